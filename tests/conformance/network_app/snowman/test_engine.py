"""The whole engine, message by message: outgoing messages, calls of the chain, and state."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from network_app.snowman.engine import SnowmanEngine
from network_app.snowman.ports import Chits
from network_app.snowman.topological import VoteDecision
from primitives.ids import ID, NodeID
from tests.conformance.network_app.snowman.vectors import an_id, parameters, snowman_cases

NOBODY = ID(b"\xff" * 32)


@dataclass(frozen=True)
class ScriptBlock:
    """A block of a case; its bytes equal its ID."""

    number: int
    block_id: ID
    parent_id: ID
    height: int
    invalid: bool
    options: tuple[int, ...]

    @property
    def raw(self) -> bytes:
        return bytes(self.block_id)


def _node(number: int) -> NodeID:
    return NodeID((number + 1).to_bytes(20, "big"))


def _number(node_id: NodeID) -> int:
    return int.from_bytes(node_id, "big") - 1


class Script:
    """A running case: the chain, the validators and the messages around an engine."""

    def __init__(self, case: Any) -> None:
        ids = {item["n"]: an_id(item["id"]) for item in case["blocks"]}
        self.blocks = {
            other["n"]: ScriptBlock(
                other["n"],
                ids[other["n"]],
                ids.get(other["parent"], NOBODY),
                other["height"],
                bool(other.get("invalid")),
                tuple(other.get("options", ())),
            )
            for other in case["blocks"]
        }
        self.by_id = {block.block_id: block for block in self.blocks.values()}
        self.weights = {_node(number): weight for number, weight in enumerate(case["weights"])}
        self.connected = set(self.weights)
        self.out: list[dict[str, Any]] = []
        self.verified = {ids[0]}
        self.accepted = [ids[0]]
        self.rejected: set[ID] = set()
        self.preference = ids[0]
        self.rules = parameters(case["params"])
        self.engine: SnowmanEngine[ScriptBlock] = SnowmanEngine(
            self, self, self, self.rules, self.blocks[0]
        )

    # --- the chain

    async def parse(self, raw: bytes) -> ScriptBlock | None:
        return self.by_id.get(ID(raw)) if len(raw) == 32 else None

    async def get_block(self, block_id: ID) -> ScriptBlock | None:
        return self.by_id[block_id] if block_id in self.verified - self.rejected else None

    async def get_block_id_at_height(self, height: int) -> ID | None:
        place = height - self.blocks[0].height
        return self.accepted[place] if 0 <= place < len(self.accepted) else None

    async def build(self) -> ScriptBlock | None:
        built = None
        if not self.by_id[self.preference].options:
            built = next((block for block in self.blocks.values() if self._may_build(block)), None)
        self.out.append({"vm": "build", "block": None if built is None else built.number})
        return built

    def _may_build(self, block: ScriptBlock) -> bool:
        return (
            not block.invalid
            and block.block_id not in self.verified
            and block.parent_id == self.preference
        )

    async def verify(self, block: ScriptBlock) -> bool:
        self.out.append({"vm": "verify", "block": block.number, "ok": not block.invalid})
        if not block.invalid:
            self.verified.add(block.block_id)
        return not block.invalid

    async def options(self, block: ScriptBlock) -> Sequence[ScriptBlock]:
        return [self.blocks[number] for number in block.options]

    async def set_preference(self, block_id: ID) -> None:
        self.preference = block_id
        self.out.append({"vm": "setPreference", "block": self.by_id[block_id].number})

    async def decide(self, decisions: Sequence[VoteDecision]) -> None:
        for decision in decisions:
            self.accepted.append(decision.accepted)
            self.rejected.update(decision.rejected)
            self.out.append({"vm": "accept", "block": self.by_id[decision.accepted].number})
            for number in sorted(self.by_id[rejected].number for rejected in decision.rejected):
                self.out.append({"vm": "reject", "block": number})

    # --- the validators

    def is_validator(self, node_id: NodeID) -> bool:
        return node_id in self.weights

    def weight(self, node_id: NodeID | None) -> int:
        return 0 if node_id is None else self.weights.get(node_id, 0)

    def connected_share(self) -> float:
        return sum(self.weights[node_id] for node_id in self.connected) / sum(self.weights.values())

    def sample(self, k: int) -> Counter[NodeID]:
        assert k == sum(self.weights.values())
        return Counter(self.weights)

    def random_connected(self) -> NodeID | None:
        return min(self.connected, default=None)

    # --- messages

    def send_get(self, node_id: NodeID, request_id: int, block_id: ID) -> None:
        self.out.append(
            {
                "send": "get",
                "node": _number(node_id),
                "request": request_id,
                "block": self._block(block_id),
            }
        )

    def send_push_query(
        self, node_ids: Iterable[NodeID], request_id: int, raw: bytes, height: int
    ) -> None:
        self._send_query("pushQuery", node_ids, request_id, ID(raw), height)

    def send_pull_query(
        self, node_ids: Iterable[NodeID], request_id: int, block_id: ID, height: int
    ) -> None:
        self._send_query("pullQuery", node_ids, request_id, block_id, height)

    def _send_query(
        self, kind: str, node_ids: Iterable[NodeID], request_id: int, block_id: ID, height: int
    ) -> None:
        nodes: Any = sorted(map(_number, node_ids))
        self.out.append(
            {
                "send": kind,
                "nodes": nodes,
                "request": request_id,
                "block": self._block(block_id),
                "height": height,
            }
        )

    def send_chits(self, node_id: NodeID, request_id: int, chits: Chits) -> None:
        self.out.append(
            {
                "send": "chits",
                "node": _number(node_id),
                "request": request_id,
                "preferred": self._block(chits.preferred_id),
                "preferredAtHeight": self._block(chits.preferred_id_at_height),
                "accepted": self._block(chits.accepted_id),
                "acceptedHeight": chits.accepted_height,
            }
        )

    def _block(self, block_id: ID) -> int:
        return self.by_id[block_id].number

    # --- the script

    async def run(self, step: Any) -> None:
        """Pass an incoming event to the engine."""
        engine = self.engine
        kind = step["in"]
        node = _node(step.get("node", 0))
        request = step.get("request", 0)
        if kind == "start":
            await engine.start()
        elif kind == "build":
            await engine.want_block()
        elif kind == "gossip":
            await engine.gossip()
        elif kind == "connected":
            self.connected.add(node)
        elif kind == "disconnected":
            self.connected.discard(node)
        elif kind == "pushQuery":
            await engine.push_query(node, request, self._raw(step), step["height"])
        elif kind == "pullQuery":
            await engine.pull_query(node, request, self._id(step["block"]), step["height"])
        elif kind == "put":
            await engine.put(node, request, self._raw(step))
        elif kind == "getFailed":
            await engine.get_failed(node, request)
        elif kind == "queryFailed":
            await engine.query_failed(node, request)
        else:
            assert kind == "chits"
            chits = Chits(
                self._id(step["preferred"]),
                self._id(step["preferredAtHeight"]),
                self._id(step["accepted"]),
                step["acceptedHeight"],
            )
            await engine.chits(node, request, chits)

    def _id(self, number: int | None) -> ID:
        return NOBODY if number is None or number < 0 else self.blocks[number].block_id

    def _raw(self, step: Any) -> bytes:
        return b"unreadable" if step["block"] is None else self.blocks[step["block"]].raw

    def state(self) -> dict[str, Any]:
        """Return the engine's state in the format of the vectors."""
        engine = self.engine
        return {
            "preference": self._block(engine.tree.preference),
            "lastAccepted": self._block(engine.tree.last_accepted),
            "processing": sorted(map(self._block, engine.tree.processing())),
            "pending": sorted(map(self._block, engine.pending)),
            "requested": sorted(map(self._block, engine.requested)),
            "openPolls": len(engine.polls),
            "unverified": len(engine.unverified),
            "pendingBuilds": engine.pending_builds,
        }


@pytest.mark.parametrize("case", snowman_cases("engine"))
async def test_a_script_of_messages(case: Any) -> None:
    script = Script(case)
    for number, step in enumerate(case["steps"]):
        script.out.clear()
        await script.run(step)
        expected = step["out"]
        for found, wanted in zip(script.out, expected, strict=False):
            if wanted.get("nodes") == "one connected validator":
                assert len(found["nodes"]) == 1
                found["nodes"] = wanted["nodes"]
        assert (number, script.out) == (number, expected)
        assert (number, script.state()) == (number, step["state"])
