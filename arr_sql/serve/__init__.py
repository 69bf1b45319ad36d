"""Programs and people that come over a socket or a pipe: the inspector's pages (``arr ui``) and reports."""
