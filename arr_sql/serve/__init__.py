"""Where others meet the store: functions for SQL tools, tools for agents (``arr mcp``), pages and reports (``arr ui``)."""
