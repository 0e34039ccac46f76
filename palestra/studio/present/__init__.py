"""What a person is shown: stimuli declared in one file, planned, shown by a local page, and logged with exact times.

The page and its words may be touched freely; plans and logs only compatibly: recordings are read by them.
"""
