"""The retrievers for LangChain, LlamaIndex and Haystack against the real packages. Not part of `pytest`:

python3 -m venv .venv-adapters && .venv-adapters/bin/python -m pip install -q -U pip
.venv-adapters/bin/python -m pip install -q . --group adapters
.venv-adapters/bin/python -m pytest -q .ci/test_adapters.py
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest

from arr_sql.errors import ChannelError
from tests.docs.audit_project import build
from tests.docs.test_frameworks_page import run_page

TOML = (
    '[project]\nteam_id = "vision"\nproject_id = "lumen"\nrepository = "lab/lumen"\nexperiment_environment = "a100"\n'
)
QUESTION = "why did r7 diverge"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A project with files, memories and records; asked with branch main."""
    made = tmp_path_factory.mktemp("adapters")
    build(made)
    (made / "arr.toml").write_text(TOML, "utf-8")
    return str(made)


@pytest.fixture
def broken(folder: str, tmp_path: Path) -> str:
    """The same with its added folder gone: a question with no answer is then not answered, not empty."""
    shutil.copytree(Path(folder) / ".arr", tmp_path / "p" / ".arr")
    (tmp_path / "p" / "arr.toml").write_text(TOML, "utf-8")
    return str(tmp_path / "p")


def test_langchain(folder: str, broken: str) -> None:
    """invoke, ainvoke and batch; in a chain; an incomplete answer without evidence raises."""
    from langchain_core.runnables import RunnableLambda

    from arr_sql.adapters.langchain import ArrRetriever

    retriever = ArrRetriever(folder=folder, branch="main", k=3)
    first, *rest = retriever.invoke(QUESTION)
    assert (
        first.metadata["source"] == "notes/warmup.md"
        and first.id.startswith("c")
        and "NAN_LOSS_17" in first.page_content
    )
    assert first.metadata["retrieval_id"].startswith("r") and all(
        first.metadata["score"] >= d.metadata["score"] for d in rest
    )
    assert [d.id for d in asyncio.run(retriever.ainvoke(QUESTION))] == [d.id for d in (first, *rest)]
    assert (retriever | RunnableLambda(lambda found: found[0].metadata["locator"])).invoke(QUESTION) == "L1-4"
    with pytest.raises(ChannelError, match=r"not everything could be searched: .*vector "):
        ArrRetriever(folder=broken, branch="main").invoke("zebra xylophone")


def test_llama_index(folder: str, broken: str) -> None:
    """retrieve and aretrieve give nodes with scores."""
    from arr_sql.adapters.llama_index import ArrRetriever

    retriever = ArrRetriever(folder, branch="main", k=3)
    nodes = retriever.retrieve(QUESTION)
    assert nodes[0].node.metadata["source"] == "notes/warmup.md" and "NAN_LOSS_17" in nodes[0].text
    assert [n.score for n in nodes] == sorted((n.score for n in nodes), reverse=True)
    assert [n.node_id for n in asyncio.run(retriever.aretrieve(QUESTION))] == [n.node_id for n in nodes]
    with pytest.raises(ChannelError):
        ArrRetriever(broken, branch="main").retrieve("zebra xylophone")


def test_haystack(folder: str, broken: str) -> None:
    """Alone, in a pipeline, and from a saved pipeline."""
    from haystack import Pipeline

    from arr_sql.adapters.haystack import ArrRetriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", ArrRetriever(folder, branch="main", top_k=3))
    again = Pipeline.from_dict(pipeline.to_dict(), allowed_modules=["arr_sql.adapters.haystack"])
    for made in (pipeline, again):
        documents = made.run({"retriever": {"query": QUESTION}})["retriever"]["documents"]
        assert documents[0].meta["source"] == "notes/warmup.md" and documents[0].score > 0
    assert len(ArrRetriever(folder, branch="main").run("warmup", top_k=1)["documents"]) == 1
    with pytest.raises(ChannelError):
        ArrRetriever(broken, branch="main").run("zebra xylophone")


def test_the_page(tmp_path: Path) -> None:
    """Every block of docs/frameworks.md prints what the page shows."""
    assert run_page(tmp_path, has_frameworks=True) == 6
