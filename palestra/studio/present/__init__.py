"""Shows a person what a file declares, in a browser page of this machine, and logs when each thing was really shown.

Patterns and the page may be touched freely; the log only compatibly.
"""
