"""Where pictures and signals come from: cameras, files played as live, LSL, and what phones and headsets push.

May be touched freely; each is a `Source` (capture/source.py), named in specs.py. Hostile input: the push sources.
"""
