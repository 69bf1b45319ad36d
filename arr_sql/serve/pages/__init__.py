"""What each page of the inspector shows, as plain values: read from the store here, laid out by the templates."""
