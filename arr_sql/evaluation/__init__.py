"""Evaluation: gold sets, metrics, runs of every mode on the same topics, and what became of each relevant item."""
