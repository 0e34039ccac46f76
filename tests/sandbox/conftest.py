"""Sandboxes to run hostile programs in."""

from tests.sandbox.ground import any_ground, folder, gone, ground  # noqa: F401
