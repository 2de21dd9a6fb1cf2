"""How a host's own TCP is set up for what is reserved from and to it: what it needs, what it has, the change and its undo.

`flows.py` reads reservations, `state.py` what a host answers, `tuning.py` decides, `change.py` makes commands and their
undo.
"""
