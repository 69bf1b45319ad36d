"""arr_sql: research memory and evidence retrieval in one SQLite file per project."""

__version__ = "0.1.0"
