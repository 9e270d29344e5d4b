"""All slots and all accounts at every height, compared with single reads."""

import random

import pytest

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.store import evm_state
from primitives.evm import ZERO_WORD, Address, Slot, Word
from primitives.hashing import EMPTY_HASH

pytestmark = pytest.mark.django_db

ADDRESSES = [Address(b"\x41" * 19 + bytes([last])) for last in (0x40, 0x41, 0x42)]
ACCOUNT = ADDRESSES[1]
SLOTS = [Slot(bytes(32)), Slot(b"\xff" * 32), Slot((7).to_bytes(32, "big"))]
HEIGHTS = 5


def put_slots(address: Address, chance: random.Random) -> None:
    """Write the values of slots after each height: rows and changes, as blocks write them."""
    for slot in SLOTS:
        values = [Word(chance.choice([0, 0, 1, 2]).to_bytes(32, "big")) for _ in range(HEIGHTS)]
        for number in range(1, HEIGHTS):
            if values[number] != values[number - 1]:
                models.StorageChange.objects.create(
                    id=models.row_id(number) + models.StorageChange.objects.count(),
                    key=address + slot,
                    number=number,
                    value=values[number - 1],
                )
        if values[-1] != ZERO_WORD:
            models.StorageSlot.objects.create(key=address + slot, value=values[-1])


def put_account(address: Address, chance: random.Random) -> None:
    """Write the state of an account after each height; its nonce identifies the height."""
    nonces = [chance.choice([None, 0, 1]) for _ in range(HEIGHTS)]
    for number in range(1, HEIGHTS):
        before = nonces[number - 1]
        if nonces[number] != before:
            known = {} if before is None else {"balance": 0, "code_hash": EMPTY_HASH}
            models.AccountChange.objects.create(
                id=models.row_id(number) + models.AccountChange.objects.count(),
                address=address,
                number=number,
                nonce=before,
                **known,
            )
    if nonces[-1] is not None:
        models.Account.objects.create(
            address=address, nonce=nonces[-1], balance=0, code_hash=EMPTY_HASH
        )


@pytest.mark.parametrize("seed", range(8))
def test_slots_are_those_of_the_height(seed: int) -> None:
    chance, db = random.Random(seed), evm_chain().db  # not a secret
    for address in ADDRESSES:
        put_slots(address, chance)
    for number in range(HEIGHTS):
        words = {slot: evm_state.slot_at(db, ACCOUNT, slot, number) for slot in SLOTS}
        found = list(evm_state.slots_at(db, ACCOUNT, number))
        assert len(found) == len(dict(found))
        assert dict(found) == {slot: word for slot, word in words.items() if word != ZERO_WORD}


@pytest.mark.parametrize("seed", range(8))
def test_accounts_are_those_of_the_height(seed: int) -> None:
    chance, db = random.Random(seed), evm_chain().db  # not a secret
    for address in ADDRESSES:
        put_account(address, chance)
    for number in range(HEIGHTS):
        found = list(evm_state.addresses_at(db, number))
        assert sorted(found) == [
            item for item in ADDRESSES if evm_state.account_at(db, item, number) is not None
        ]


@pytest.mark.parametrize("seed", range(4))
def test_changes_are_counted_by_blocks(seed: int) -> None:
    chance, db = random.Random(seed), evm_chain().db  # not a secret
    for address in ADDRESSES:
        put_slots(address, chance)
        put_account(address, chance)
    for first, last in ((1, 1), (2, 3), (1, HEIGHTS)):
        within = range(first, last + 1)
        accounts = [
            Address(bytes(other.address))
            for other in models.AccountChange.objects.all()
            if other.number in within
        ]
        keys = [
            bytes(item.key) for item in models.StorageChange.objects.all() if item.number in within
        ]
        assert dict(evm_state.changed_accounts(db, first, last)) == {
            account: accounts.count(account) for account in accounts
        }
        assert {(a, s): count for a, s, count in evm_state.changed_slots(db, first, last)} == {
            (Address(key[:20]), Slot(key[20:])): keys.count(key) for key in keys
        }
