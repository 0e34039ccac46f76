"""What teams are told of how their program is spoken to."""

from palestra.tracks.tabletop.episode import TableWorld
from palestra.tracks.tabletop.interfaces import observation


def test_the_observation_is_what_the_table_really_shows(cases):
    world = TableWorld(cases[0], 1, 64)
    arrays, told = world.look()
    world.close()
    documented = {row[0]: row[1:3] for row in observation(64).rows}
    assert documented.keys() == arrays.keys() | told.keys()
    for name, array in arrays.items():
        assert documented[name] == (array.dtype.name, " × ".join(map(str, array.shape))), name
    for name, value in told.items():
        assert documented[name][0] == {"str": "text"}.get(type(value).__name__, type(value).__name__), name
