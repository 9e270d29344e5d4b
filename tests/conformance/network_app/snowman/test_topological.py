"""The tree of blocks: the preferred and the decided blocks after each new block and each poll."""

from typing import Any

import pytest

from chainvm.errors import DuplicateBlock, UnknownParent
from network_app.snowman.topological import Topological, VoteDecision
from primitives.ids import ID
from tests.conformance.network_app.snowman.vectors import an_id, parameters, snowman_cases

NOBODY = ID(b"\xff" * 32)


class Script:
    """A running case."""

    def __init__(self, case: Any) -> None:
        genesis = case["genesis"]
        self.blocks = {value["n"]: value for value in [genesis, *case["blocks"]]}
        self.ids = {number: an_id(one["id"]) for number, one in self.blocks.items()}
        self.numbers = {block_id: number for number, block_id in self.ids.items()}
        self.tree = Topological(parameters(case["params"]), self.ids[0], genesis["height"])

    def add(self, number: int) -> str | None:
        """Add a block; return the reason if it is rejected."""
        block = self.blocks[number]
        try:
            self.tree.add(self.ids[number], self.ids.get(block["parent"], NOBODY), block["height"])
        except (DuplicateBlock, UnknownParent) as error:
            return (
                "unknown parent block"
                if isinstance(error, UnknownParent)
                else "duplicate block add"
            )
        return None

    def poll(self, votes: dict[str, int]) -> tuple[list[VoteDecision], str]:
        """Record a poll; return its decisions and the way in which it was counted."""
        before = self.tree.successful_polls, self.tree.failed_polls
        decisions = self.tree.record_poll(
            {
                NOBODY if number == "x" else self.ids[int(number)]: count
                for number, count in votes.items()
            }
        )
        successful = self.tree.successful_polls - before[0]
        failed = self.tree.failed_polls - before[1]
        return decisions, f"successful {successful} failed {failed}"

    def listed(self, decisions: list[VoteDecision]) -> list[dict[str, Any]]:
        """Return decisions in the format of the vectors."""
        return [
            {
                "accept": self.numbers[decision.accepted],
                "reject": sorted(self.numbers[rejected] for rejected in decision.rejected),
            }
            for decision in decisions
        ]

    def path(self) -> list[int]:
        """Return the preferred branch, from the child of the last accepted block upwards."""
        found: list[int] = []
        height = self.tree.last_height + 1
        while (block_id := self.tree.preferred_at(height)) is not None:
            found.append(self.numbers[block_id])
            height += 1
        return found

    def verify_order(self, decisions: list[VoteDecision]) -> None:
        """Check that parents are rejected before their children."""
        for decision in decisions:
            places = {block_id: place for place, block_id in enumerate(decision.rejected)}
            for block_id, place in places.items():
                parent = self.ids[self.blocks[self.numbers[block_id]]["parent"]]
                assert places.get(parent, -1) < place

    def verify(self, out: Any) -> None:
        """Check that the tree equals the reference's."""
        tree = self.tree
        assert self.numbers[tree.preference] == out["preference"]
        assert self.path() == out["path"]
        assert sorted(self.numbers[block] for block in tree.processing()) == out["processing"]
        assert self.numbers[tree.last_accepted] == out["lastAccepted"]
        assert (len(tree) == 0) is out["finalized"]
        for number in out["path"]:
            assert tree.is_preferred(self.ids[number])


def _works(case: Any) -> bool:
    """Return whether all blocks of a script are accepted and rejected without failure.

    In this node that happens after the tree has returned its decisions: a failed commit discards the whole
    tree (snowman.md 14.7).
    """
    return not any("acceptFails" in item or "rejectFails" in item for item in case["blocks"])


@pytest.mark.parametrize("case", [*snowman_cases("suite", _works), *snowman_cases("topological")])
def test_a_script_of_blocks_and_polls(case: Any) -> None:
    script = Script(case)
    for step in case["steps"]:
        out = step["out"]
        decisions: list[VoteDecision] = []
        if "add" in step:
            assert script.add(step["add"]) == out.get("error")
        else:
            counted = ""
            for _ in range(step.get("times", 1)):
                more, counted = script.poll(step["poll"])
                decisions += more
            if step.get("times", 1) == 1:
                assert counted == out["counted"]
        script.verify_order(decisions)
        assert script.listed(decisions) == out["decided"]
        script.verify(out)


@pytest.mark.parametrize("case", snowman_cases("suite", lambda case: not _works(case)))
def test_decisions_before_a_tree_failure_are_correct(case: Any) -> None:
    script = Script(case)
    for step in case["steps"]:
        if "add" in step:
            script.add(step["add"])
            continue
        decisions, _ = script.poll(step["poll"])
        (decided,) = step["out"]["decided"] or [{"accept": None, "reject": []}]
        done = script.listed(decisions)[0]
        # The reference stopped at the block that failed.
        assert decided["accept"] in {None, done["accept"]}
        assert set(decided["reject"]) <= set(done["reject"])
        script.verify_order(decisions)
