"""The table with all that the simulator knows: it shows that the cases can be solved, and competes with nobody."""

from typing import TYPE_CHECKING, Any

from palestra.records import Solution

if TYPE_CHECKING:
    from palestra.worlds.table_case import Case


class Knowing:
    """The scripted policy, let into the world itself."""

    def reset(self, world: Any) -> None:
        from palestra.solutions.tabletop_scripted import Scripted

        self._policy = Scripted()
        self._policy.reset(world.case, world.table)

    def act(self) -> dict[str, Any]:
        action = self._policy.act()
        return {"actions": [action.tolist()], "done": self._policy.done}


def played(case: "Case", limit_s: float = 90.0) -> list[list[float] | None]:
    """What it does in a case, in lock-step."""
    from palestra.solutions.tabletop_scripted import Scripted
    from palestra.worlds.table import Table

    table, policy = Table(case.scene), Scripted()
    policy.reset(case, table)
    actions: list[list[float] | None] = []
    while not policy.done and table.time_s < limit_s:
        action = policy.act()
        table.step(action)
        actions.append(action.tolist())
    table.close()
    return actions


SOLUTION = Solution(
    "tabletop-manip-v1",
    "scripted",
    "told where everything is: shows that the cases can be solved",
    knows="palestra.solutions.tabletop_manip_scripted:Knowing",
)
