"""No test here may use the network: with the language model off, nothing does (contract 1.4)."""

from __future__ import annotations

import pytest

from tests.no_network import shut


@pytest.fixture(autouse=True)
def _without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    shut(monkeypatch)
