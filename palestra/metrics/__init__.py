"""Pure functions on arrays: angles, order statistics, overlap, resampling. Empty: import the module you need.

Changes published numbers: each is tested against an independent implementation. numpy and scipy alone.
"""
