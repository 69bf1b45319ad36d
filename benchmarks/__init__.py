"""Commands that measure. Each prints what it measured; nothing here is imported by the package or its tests."""
