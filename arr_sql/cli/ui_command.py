"""``arr ui``."""

from __future__ import annotations

import click

from arr_sql.cli._shared import Where, echo, note, project_options

DEFAULT_PORT = 8177


@click.command()
@click.option("--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0: any free one.")
@click.option("--open", "open_browser", is_flag=True, help="Open the page in your browser.")
@click.option("--record", is_flag=True, help="Record searches made on the page, as `arr search` does.")
@project_options
def ui(port: int, open_browser: bool, record: bool, where: Where) -> None:
    """Show the store as pages in your browser: search, retrievals, memories, sources, the audit log.

    Read only, for this machine only: it listens on 127.0.0.1, and the address that it prints holds a token without which
    no page is shown. Needs the extra `ui`. Ctrl-C ends it.

    \b
    Example:
      arr ui --port 8200
    """
    try:
        from arr_sql.serve import server
        from arr_sql.serve.guard import new_token
        from arr_sql.serve.inspector import Inspector
    except ImportError as error:
        from arr_sql.errors import InputError

        raise InputError(
            f"The page needs the extra `ui` ({error.name} is not installed). Run: pip install 'arr-sql[ui]'"
        ) from None
    project = where.find()
    with where.open():  # an unfit file is an error here, not on the first page
        pass
    bound = server.bind(port)
    with bound:
        taken = bound.getsockname()[1]
        token = new_token()
        address = f"http://{server.HOST}:{taken}/?token={token}"
        inspector = Inspector(project, record=record)
        app = inspector.app(token=token, port=taken)

        def ready() -> None:
            echo(address)
            note(f"The inspector of {project.scope} is at this address. It is for you alone. Ctrl-C ends it.")
            if open_browser and click.launch(address) != 0:
                note("No browser could be opened. Open the address yourself.")

        try:
            server.serve(app, bound, ready)
        finally:
            inspector.close()
    note("Stopped.")
