"""Palestra runs challenges in which machines read people and act for them.

Where things are: docs/architecture.md. Rooms are imported through their doors, and nothing is loaded before it is used.
"""
