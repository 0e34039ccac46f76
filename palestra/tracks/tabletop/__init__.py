"""Tabletop manipulation by instruction: tabletop-manip-v1, simulated and before referees.

Changes published numbers: changed scoring is a new version beside manip_v1.py.
"""
