"""Where others meet the store: functions for SQL tools, and the inspector's pages and reports (``arr ui``)."""
