"""The command line's small prepared project serves here too."""

from __future__ import annotations

from tests.cli.conftest import prepared, project

__all__ = ["prepared", "project"]
