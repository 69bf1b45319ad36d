"""Models of three packages that this program does not depend on: fastembed, sentence-transformers, model2vec.

Each is imported when a model of it is opened and not before, and is kept from the network: models are read from a folder,
or (fastembed) from its own cache. Each text runs alone, so that its vector does not depend on its neighbours.
``.ci/test_embedders.py`` runs them against the real packages, in an environment of its own.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from arr_sql.errors import ModelError
from arr_sql.index.embedders.e5_file import sha256_of
from arr_sql.index.embedders.numpy_threads import load_numpy
from arr_sql.index.embedders.protocol import EmbedderSpec
from arr_sql.index.embedders.window_embedder import WINDOW_TOKENS, WindowEmbedder

#: Read by the packages' download code: with them set it uses what is on disk or fails.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

#: model2vec looks words up one by one and reads texts of any length; windows only bound its memory.
_MODEL2VEC_TOKENS = 100_000


class Model2VecEmbedder(WindowEmbedder):
    """A static model in ``folder`` (``StaticModel.save_pretrained``)."""

    def __init__(self, folder: Path, query_prefix: str = "", passage_prefix: str = "") -> None:
        """Raises ModelError when the package or the model is missing or damaged."""
        with _opening("model2vec", folder) as package:
            self._model = package.StaticModel.from_pretrained(str(folder), force_download=False)
            self.spec = EmbedderSpec(
                id=f"model2vec:{folder.name}", revision=_hash(folder), dimension=int(self._model.dim),
                window_tokens=_MODEL2VEC_TOKENS, query_prefix=query_prefix, passage_prefix=passage_prefix,
                fusion_weight=0.3,
            )  # fmt: skip

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text."""
        return [self._model.encode([text], max_length=None, use_multiprocessing=False)[0].tolist() for text in texts]


class SentenceTransformersEmbedder(WindowEmbedder):
    """A sentence-transformers model in ``folder``; its own prompts are the prefixes unless others are given."""

    def __init__(self, folder: Path, query_prefix: str = "", passage_prefix: str = "") -> None:
        """Raises ModelError when the package or the model is missing or damaged."""
        with _opening("sentence_transformers", folder) as package:
            self._model = package.SentenceTransformer(str(folder), device="cpu", local_files_only=True)
            prompts = dict(getattr(self._model, "prompts", None) or {})
            longest = int(getattr(self._model, "max_seq_length", None) or WINDOW_TOKENS)
            dimension = len(self._encode_one("dimension"))
            self.spec = EmbedderSpec(
                id=f"sentence-transformers:{folder.name}", revision=_hash(folder), dimension=dimension,
                # A margin: the estimate of tokens may be low, and special tokens take room.
                window_tokens=max(8, longest * 9 // 10 - 4),
                query_prefix=query_prefix or prompts.get("query", ""),
                passage_prefix=passage_prefix or prompts.get("passage", "") or prompts.get("document", ""),
            )  # fmt: skip

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text."""
        return [self._encode_one(text) for text in texts]

    def _encode_one(self, text: str) -> list[float]:
        # An empty prompt: the prefix is in the text already, and a default prompt must not come before it.
        row = self._model.encode([text], prompt="", batch_size=1, show_progress_bar=False, convert_to_numpy=True)[0]
        return [float(value) for value in row]


class FastEmbedEmbedder(WindowEmbedder):
    """A model that fastembed knows by ``name`` and has in its cache, or in a folder: ``NAME@FOLDER``."""

    def __init__(self, name: str, query_prefix: str = "", passage_prefix: str = "") -> None:
        """Raises ModelError when the package or the model is missing, or the name is unknown to it."""
        name, _, folder = name.partition("@")
        with _opening("fastembed", Path(folder) if folder else name) as package:
            place = {"specific_model_path": folder} if folder else {}
            self._model = package.TextEmbedding(name, threads=1, local_files_only=True, **place)
            version = importlib.metadata.version("fastembed")
            self.spec = EmbedderSpec(
                id=f"fastembed:{name}", revision=_hash(Path(folder)) if folder else f"fastembed {version}",
                dimension=len(self._encode_one("dimension")),
                window_tokens=WINDOW_TOKENS, query_prefix=query_prefix, passage_prefix=passage_prefix,
            )  # fmt: skip

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector a text."""
        return [self._encode_one(text) for text in texts]

    def _encode_one(self, text: str) -> list[float]:
        return [float(value) for value in next(iter(self._model.embed([text], batch_size=1)))]


@contextmanager
def _opening(package: str, what: Path | str) -> Iterator[Any]:
    """The imported package, with downloads switched off while its model is opened. Any failure becomes a ModelError."""
    distribution = package.replace("_", "-")
    if isinstance(what, Path) and not what.is_dir():
        raise ModelError(f"'{what}' is no folder. {distribution} models are read from a folder; nothing is downloaded.")
    load_numpy()
    before = {name: os.environ.get(name) for name in _OFFLINE}
    os.environ.update(_OFFLINE)
    try:
        yield importlib.import_module(package)
    except ImportError as error:
        raise ModelError(
            f"{distribution} is not installed, and this model needs it. Run `pip install {distribution}`."
        ) from error
    except ModelError:
        raise
    except Exception as error:  # foreign code
        raise ModelError(f"{distribution} cannot open '{what}': {type(error).__name__}: {error}") from error
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _hash(folder: Path) -> str:
    """SHA-256 over the names and contents of a model's files; hidden files and pages for readers do not count."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if not any(part.startswith(".") for part in name.split("/")) and path.suffix.lower() != ".md":
            with path.open("rb") as handle:
                digest.update(f"{name}\0{sha256_of(handle)}\n".encode())
    return digest.hexdigest()
