"""The command line's small prepared project serves here too, and one with a running inspector."""

from __future__ import annotations

from tests.cli.conftest import prepared, project
from tests.serve.running import copy_of, inspected, site

__all__ = ["copy_of", "inspected", "prepared", "project", "site"]
