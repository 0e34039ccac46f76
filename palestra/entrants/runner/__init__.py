"""Runs in the sandbox beside a contestant's class: `python -m palestra.entrants.runner`. Empty, as imports count there.

May be touched only compatibly. Nothing that it says is trusted by the other side.
"""
