"""Shared memory in rows against the reference's: puts, removals, marks of early removals, and pages (atomic.md 2).

Unspecified: a page begins after the cursor, where the reference begins with it, so that its clients drop the double.
"""

from itertools import chain
from typing import Any

import pytest
from typing_extensions import override

from chaindb.database import Database
from chainvm.shared_memory import AtomicRequests, SharedMemoryConflict, SharedMemoryReason
from primitives.hashing import sha256
from primitives.ids import ID, ShortID
from shared_app.selectors import waiting_outputs
from shared_app.store import SharedRows
from tests.builders.reasons import raises
from tests.conformance.atomic_vectors import cases
from utxo.components import UTXO, OutputOwners, TransferOutput

pytestmark = pytest.mark.django_db

CHAINS = {name: ID(sha256(name.encode())) for name in "PCX"}
REASONS = {
    "duplicated put": SharedMemoryReason.DUPLICATE_PUT,
    "duplicated remove": SharedMemoryReason.DUPLICATE_REMOVE,
}


class Element(UTXO):
    """An element with a key of its own, where a UTXO's follows from its transaction."""

    @property
    @override
    def utxo_id(self) -> ID:
        return self.tx_id


class Memory:
    """The chains of a vector, whose elements have a value instead of an output."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.db = Database()
        self.rows = SharedRows(self.db)
        self.keys = [bytes.fromhex(key) for key in case["keys"]]
        self.traits = [ShortID(bytes.fromhex(trait)) for trait in case["traits"]]
        self.height = 0

    def key(self, source: str, destination: str, number: int) -> ID:
        """Return a key that is unique to its direction, as UTXO IDs are."""
        return ID(sha256(f"{source}{destination}".encode() + self.keys[number]))

    def element(self, step: dict[str, Any]) -> Element:
        owners = tuple(sorted(self.traits[number] for number in step["traits"] or ()))
        key = self.key(step["chain"], step["peer"], step["key"])
        content = TransferOutput(
            int(step["value"], 16), OutputOwners(0, min(1, len(owners)), owners)
        )
        return Element(key, 0, ID(bytes(32)), content)

    def apply(self, step: dict[str, Any], request: AtomicRequests) -> None:
        self.height += 1
        with self.db.atomic():
            self.rows.apply(CHAINS[step["chain"]], [request], self.height)

    def get(self, step: dict[str, Any]) -> list[int]:
        key = self.key(step["peer"], step["chain"], step["key"])
        found = self.rows.get(CHAINS[step["chain"]], CHAINS[step["peer"]], [key])
        return [_value(utxo) for utxo in found.values()]

    def pages(self, step: dict[str, Any]) -> list[list[int]]:
        """Return all pages of outputs, as values."""
        pages: list[list[int]] = []
        after = None
        while not pages or pages[-1]:
            page = waiting_outputs(
                self.db,
                [self.traits[number] for number in step["traits"]],
                destination=CHAINS[step["chain"]],
                source=CHAINS[step["peer"]],
                after=after,
                limit=step["limit"],
                newest_first=True,
            )
            pages.append([_amount(raw) for raw in page.utxos])
            after = page.end
        return pages


def _value(utxo: UTXO) -> int:
    assert isinstance(utxo.output, TransferOutput)
    return utxo.output.amount


def _amount(raw: bytes) -> int:
    """Return the amount of a UTXO's bytes: after version, transaction, index, asset and type ID."""
    return int.from_bytes(raw[74:82], "big")


@pytest.mark.parametrize("case", cases("shared_memory"))
def test_each_step_ends_as_in_the_reference(case: dict[str, Any]) -> None:
    memory = Memory(case)
    for step in case["steps"]:
        if step["op"] == "get":
            expected = [] if "error" in step else [int(step["value"], 16)]
            assert memory.get(step) == expected
        elif step["op"] == "indexed":
            _compare_pages(memory.pages(step), step["pages"])
        else:
            if step["op"] == "put":
                request = AtomicRequests(CHAINS[step["peer"]], put=(memory.element(step),))
            else:
                key = memory.key(step["peer"], step["chain"], step["key"])
                request = AtomicRequests(CHAINS[step["peer"]], remove=(key,))
            if "error" in step:
                with raises(REASONS[step["error"]], kind=SharedMemoryConflict):
                    memory.apply(step, request)
            else:
                memory.apply(step, request)


def _compare_pages(found: list[list[int]], wanted: list[dict[str, Any]]) -> None:
    values = [[int(value, 16) for value in page["values"] or ()] for page in wanted]
    assert found[0] == values[0]
    assert {*chain.from_iterable(values)} <= {*chain.from_iterable(found)}
