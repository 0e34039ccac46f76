"""The challenges, a folder each, with all that is a challenge's own. Delete a folder and the challenge is gone.

Nothing imports from here: palestra.registry finds each track by the names of its folder and file.
"""
