"""Copies of the file on other machines, carried by Litestream: configured, started, watched and checked here.

Nothing of replication is this program's own. ``target`` says where a copy may go, ``engine`` runs the program ``litestream``
with the environment it needs and no more, ``copying`` keeps it running, ``status`` compares the store with the file,
``restore`` makes checked files from a store, ``purge`` takes what was forgotten out of it, ``register`` is the part of the
audit log that says where copies are. Held by tests/replica.
"""
