"""Whether an account has storage, at every height, compared with its slots read one by one."""

import random

import pytest

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.store import evm_state
from primitives.evm import ZERO_WORD, Address, Slot, Word

pytestmark = pytest.mark.django_db

ACCOUNT = Address(b"\x41" * 20)
LAST = Address(b"\xff" * 20)
BEFORE, AFTER = Address(b"\x41" * 19 + b"\x40"), Address(b"\x41" * 19 + b"\x42")
HEIGHTS = 5
SLOTS = [Slot(bytes(32)), Slot(b"\xff" * 32), Slot((7).to_bytes(32, "big"))]


def put(address: Address, values: list[list[int]]) -> None:
    """Write the values of slots after each height: rows and changes, as blocks write them."""
    for slot, history in zip(SLOTS, values, strict=False):
        words = [Word(value.to_bytes(32, "big")) for value in history]
        for number in range(1, len(words)):
            if words[number] != words[number - 1]:
                models.StorageChange.objects.create(
                    id=models.row_id(number) + models.StorageChange.objects.count(),
                    key=address + slot,
                    number=number,
                    value=words[number - 1],
                )
        if words[-1] != ZERO_WORD:
            models.StorageSlot.objects.create(key=address + slot, value=words[-1])


@pytest.mark.parametrize("address", [ACCOUNT, LAST])
@pytest.mark.parametrize("seed", range(8))
def test_has_storage_matches_the_slots(address: Address, seed: int) -> None:
    chance = random.Random(seed)  # not a secret
    put(address, [[chance.choice([0, 0, 1, 2]) for _ in range(HEIGHTS)] for _ in SLOTS])
    for number in range(HEIGHTS):
        slots = [evm_state.slot_at(evm_chain().db, address, slot, number) for slot in SLOTS]
        expected = any(word != ZERO_WORD for word in slots)
        assert evm_state.has_storage_at(evm_chain().db, address, number) == expected


def test_neighbours_do_not_count() -> None:
    put(BEFORE, [[1, 1], [1, 2]])
    put(AFTER, [[1, 1], [2, 1]])
    assert not evm_state.has_storage_at(evm_chain().db, ACCOUNT, 0)
    assert not evm_state.has_storage_at(evm_chain().db, ACCOUNT, 1)
