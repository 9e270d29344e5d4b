"""Pool entries in one call."""

from itertools import count
from typing import Any

from cchain_app.pool.entry import PoolEntry
from primitives.evm import Address, Hash

ALICE = Address(b"\xa1" * 20)
BOB = Address(b"\xb0" * 20)

_arrivals = count(1)


def entry(nonce: int = 0, **changes: Any) -> PoolEntry:
    """Return a transfer from Alice with a tip of 10 wei; each one arrives after the previous one."""
    arrival = next(_arrivals)
    fields: dict[str, Any] = {
        "hash": Hash(arrival.to_bytes(32, "big")),
        "sender": ALICE,
        "nonce": nonce,
        "gas": 21_000,
        "max_fee_per_gas": 100,
        "max_priority_fee_per_gas": 10,
        "value": 0,
        "size": 110,
        "arrival": arrival,
        "received_at": 1_000,
    }
    return PoolEntry(**{**fields, **changes})


def paying(tip: int, nonce: int = 0, **changes: Any) -> PoolEntry:
    """Return a transfer that pays this tip at any base fee, in wei."""
    changes = {"max_fee_per_gas": 10**6 + tip, "max_priority_fee_per_gas": tip, **changes}
    return entry(nonce, **changes)
