"""Takes pictures and signals from any source, stamps them by one clock and writes them as they come.

Hostile input: what a headset or phone pushes. A recording's files may be touched only compatibly: they hold what
cannot be recorded again.
"""
