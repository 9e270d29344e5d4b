"""The heads of both chains, read from a database's rows for the description of a copy."""

from typing import NamedTuple

from cchain_app.store import chain as cchain_rows
from chaindb.database import Database
from nodeproject.copies.snapshots.manifest import Head
from platform_app.store import blocks as platform_rows


class Heads(NamedTuple):
    """The heads of both chains, with the chains' IDs."""

    network_id: int
    chain_id: int | None
    """The C-Chain's initial chain ID; None without a C-Chain."""
    pchain: Head
    cchain: Head | None


def of(db: Database) -> Heads | None:
    """Return the heads as seen by this thread's transaction; None if there is no chain."""
    found = platform_rows.read(db)
    if found is None:
        return None
    network, tip = found
    return Heads(
        network_id=network.network_id,
        chain_id=cchain_rows.first_chain_id(db),
        pchain=Head(tip.height, str(tip.block_id), tip.timestamp, str(network.genesis_hash)),
        cchain=_cchain(db),
    )


def _cchain(db: Database) -> Head | None:
    pointer, genesis = cchain_rows.head_pointer(db), cchain_rows.genesis_hash(db)
    if pointer is None or genesis is None:
        return None
    number, block_hash = pointer
    return Head(number, _hex(block_hash), cchain_rows.time_of(db, number), _hex(genesis))


def _hex(value: bytes) -> str:
    return f"0x{bytes(value).hex()}"
