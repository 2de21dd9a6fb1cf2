"""`python -m slotcar_lab`."""

from slotcar_lab.cli import app

app(prog_name="lab")
