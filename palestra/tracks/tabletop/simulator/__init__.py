"""The table, its arm, cameras, objects, cases and sub-goals, in MuJoCo.

Changes published numbers: end states differ between versions of the physics, which is pinned.
"""
