"""The pages of a file, held in memory while much is written. Vacuum and tidying hold the rest (tests/memory, tests/ingest)."""

from __future__ import annotations

from pathlib import Path

from arr_sql.core.connection import open_writer, write_transaction
from arr_sql.core.migrations import migrate
from arr_sql.core.pages import page_cache


def test_a_page_cache_keeps_a_large_transaction_out_of_the_log_until_it_is_done(tmp_path: Path) -> None:
    """Inside, nothing of 6 MB is in the WAL before the commit, as it is without; afterwards the setting is the old one."""
    path = tmp_path / "x.db"
    created = open_writer(path, create=True)
    migrate(created, path)
    created.close()
    wal, log = path.with_name(path.name + "-wal"), []
    for size in (32 << 20, 1 << 20):
        writer = open_writer(path)
        before = writer.execute("PRAGMA cache_size").fetchone()[0]
        writer.execute("CREATE TABLE IF NOT EXISTS filler (x)")
        writer.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with page_cache(writer, size), write_transaction(writer, path):
            writer.execute("INSERT INTO filler VALUES (randomblob(6000000))")
            log.append(wal.stat().st_size)
        assert writer.execute("PRAGMA cache_size").fetchone()[0] == before
        writer.close()
    assert log[0] == 0 and log[1] > 4_000_000
