"""Alembic's environment and revisions; run by `slotcar db upgrade`."""
