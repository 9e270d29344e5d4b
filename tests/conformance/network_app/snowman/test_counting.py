"""The siblings of a parent, and polls: step by step, compared to the reference's counts."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from network_app.snowman.parameters import InvalidParameters, SnowParameters
from network_app.snowman.polls import Poll, PollSet, Votes
from network_app.snowman.trie import BinaryNode, Node, SiblingTrie, number_of
from primitives.ids import ID, NodeID
from tests.conformance.network_app.snowman.vectors import (
    VECTORS,
    an_id,
    parameters,
    snowman_cases,
)


@pytest.mark.parametrize("case", snowman_cases("parameters", lambda case: "error" not in case))
def test_parameters_that_are_taken(case: Any) -> None:
    found = parameters(case["parameters"])
    assert found.min_connected_to_be_healthy == pytest.approx(case["minPercentConnectedHealthy"])


@pytest.mark.parametrize("case", snowman_cases("parameters", lambda case: "error" in case))
def test_parameters_that_are_refused(case: Any) -> None:
    with pytest.raises(InvalidParameters) as caught:
        parameters(case["parameters"])
    assert str(caught.value) == case["error"]


@pytest.mark.parametrize("case", snowman_cases("sibling_tree"))
def test_siblings(case: Any) -> None:
    choices = [an_id(item) for item in case["choices"]]
    trie = SiblingTrie(parameters(case["params"]), choices[0])
    for step in case["steps"]:
        out = step["out"]
        if "add" in step:
            trie.add(choices[step["add"]])
        elif "poll" in step:
            votes = {choices[int(index)]: count for index, count in step["poll"].items()}
            assert trie.record_poll(votes) is out["success"]
        else:
            trie.record_unsuccessful_poll()
        assert trie.preference == choices[out["preference"]]
        assert trie.finalized is out["finalized"]
        assert trie.reset is out["treeShouldReset"]
        assert _as_listed(trie.root, choices) == out["tree"]


def _as_listed(node: Node, choices: list[ID]) -> dict[str, Any]:
    numbers = [number_of(choice) for choice in choices]
    listed: dict[str, Any] = {
        "kind": "binary" if isinstance(node, BinaryNode) else "unary",
        "preference": str(numbers.index(node.preference)),
        "decidedPrefix": node.decided,
        "confidence": node.snowflake.confidence,
        "finalized": node.snowflake.finalized,
    }
    children: list[Node]
    if isinstance(node, BinaryNode):
        listed |= {"choice": node.snowflake.preference, "shouldReset": node.reset}
        children = node.children or []
    else:
        listed |= {"commonPrefix": node.common, "shouldReset": [node.reset]}
        children = [] if node.child is None else [node.child]
    if children:
        listed["children"] = [_as_listed(child, choices) for child in children]
    return listed


def _node(number: int | str) -> NodeID:
    return NodeID(int(number).to_bytes(20, "big"))


class _Blocks:
    """The blocks of a case with their parents."""

    def __init__(self, case: Any) -> None:
        self.ids = [an_id(item) for item in case["blocks"]]
        root = ID(b"\xff" * 32)
        self._parents = {
            block_id: root if parent < 0 else self.ids[parent]
            for block_id, parent in zip(self.ids, case["parents"], strict=True)
        }

    def parent_of(self, block_id: ID) -> ID | None:
        return self._parents.get(block_id)

    def listed(self, votes: Votes) -> dict[str, int]:
        return {str(self.ids.index(block_id)): count for block_id, count in votes.items()}


def _rules(case: Any) -> SnowParameters:
    return parameters({"alphaPreference": case["alphaPreference"],
                       "alphaConfidence": case["alphaConfidence"]})  # fmt: skip


def _sampled(found: dict[str, int]) -> Counter[NodeID]:
    return Counter({_node(number): count for number, count in found.items()})


@pytest.mark.parametrize("case", snowman_cases("early_termination"))
def test_a_poll_ends_as_soon_as_nothing_can_change(case: Any) -> None:
    blocks = _Blocks(case)
    poll = Poll(_rules(case), _sampled(case["sampled"]), blocks.parent_of)
    for step in case["steps"]:
        if "vote" in step:
            node, block = step["vote"]
            poll.vote(_node(node), blocks.ids[block])
        else:
            poll.drop(_node(step["drop"]))
        assert (poll.reason is not None) is step["finished"]
    assert blocks.listed(poll.votes) == case["result"]
    assert (poll.reason or "") == case["reason"]


@pytest.mark.parametrize("case", snowman_cases("poll_set"))
def test_poll_results_are_returned_oldest_first(case: Any) -> None:
    blocks = _Blocks(case)
    polls = PollSet(_rules(case), blocks.parent_of)
    for step in case["steps"]:
        results: list[Votes] = []
        if step["op"] == "add":
            assert polls.add(step["request"], _sampled(step["sampled"])) is step["added"]
        elif step["op"] == "vote":
            results = polls.vote(step["request"], _node(step["node"]), blocks.ids[step["block"]])
        else:
            results = polls.drop(step["request"], _node(step["node"]))
        assert [blocks.listed(result) for result in results] == step["results"]
        assert len(polls) == step["open"]


def test_every_vector_file_is_used() -> None:
    sources = [path.read_text() for path in Path(__file__).parent.glob("test_*.py")]
    for name in (path.stem for path in VECTORS.glob("*.json")):
        assert any(f'snowman_cases("{name}"' in source for source in sources), name
