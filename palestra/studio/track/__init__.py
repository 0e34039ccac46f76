"""Where the ball, the head and the eyeballs were in a recording of colour and depth, written as EYEDIAP has it.

May be touched freely, but for the files that it writes: the tracks read them. A change of how something is found
changes new recordings' labels, and is measured (benchmarks/studio_track.py).
"""
