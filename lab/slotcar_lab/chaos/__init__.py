"""Chaos: random reservations and random deaths on the lab, judged by what the routers had, second by second.

`python -m slotcar_lab.chaos --seed N --minutes M`; a round can be run again alone with `--seed N --round K`.
"""
