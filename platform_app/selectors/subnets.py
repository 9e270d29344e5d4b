"""Subnets with their owners, and blockchains."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from platform_app.chain import PlatformChain
from platform_app.store import rows
from primitives.ids import ID, PRIMARY_NETWORK_ID
from utxo.components import OutputOwners

_SUBNETS = "SELECT subnet_id, locktime, threshold, owner FROM platform_app_subnet "
_ALL_SUBNETS = _SUBNETS + "ORDER BY position"
_SOME_SUBNETS = _SUBNETS + "WHERE subnet_id IN ({keys})"
_BLOCKCHAINS = "SELECT blockchain_id, subnet_id, name, vm_id FROM platform_app_blockchain "
_ALL_BLOCKCHAINS = _BLOCKCHAINS + "ORDER BY position"
_BY_SUBNET = """
SELECT b.blockchain_id, b.subnet_id, b.name, b.vm_id FROM platform_app_blockchain b
LEFT JOIN platform_app_subnet s ON s.subnet_id = b.subnet_id
ORDER BY CASE WHEN s.position IS NULL THEN 1 ELSE 0 END, s.position, b.position
"""
_OF_SUBNET = _BLOCKCHAINS + "WHERE subnet_id = %s ORDER BY position"
_LATER_BLOCKCHAINS = """
SELECT position, blockchain_id, subnet_id, name, vm_id FROM platform_app_blockchain
WHERE position > %s ORDER BY position
"""
_ONE_BLOCKCHAIN = _BLOCKCHAINS + "WHERE blockchain_id = %s"


class SubnetRecord(NamedTuple):
    """A subnet and its owner."""

    subnet_id: ID
    locktime: int
    threshold: int
    raw_owner: bytes
    """`OutputOwners` without type ID."""

    @property
    def owner(self) -> OutputOwners:
        """The owner, parsed on demand: there can be thousands of addresses."""
        return rows.owners_of(self.raw_owner)


class BlockchainRecord(NamedTuple):
    """A blockchain; its genesis is in the transaction that has its ID."""

    blockchain_id: ID
    subnet_id: ID
    name: str
    vm_id: ID


def subnets(chain: PlatformChain, subnet_ids: Sequence[ID] | None = None) -> list[SubnetRecord]:
    """Return all subnets, or the existing ones of the given IDs, in the given order without duplicates."""
    if subnet_ids is None:
        return [_subnet(row) for row in chain.db.rows(_ALL_SUBNETS)]
    wanted = list(dict.fromkeys(subnet_ids))
    by_id = {
        record.subnet_id: record
        for record in map(_subnet, chain.db.rows_by_keys(_SOME_SUBNETS, wanted))
    }
    return [by_id[subnet_id] for subnet_id in wanted if subnet_id in by_id]


def subnet(chain: PlatformChain, subnet_id: ID) -> SubnetRecord | None:
    """Return a subnet; None if it does not exist and for the Primary Network."""
    matching = subnets(chain, [subnet_id])
    return matching[0] if matching else None


def blockchains(chain: PlatformChain, subnet_id: ID | None = None) -> list[BlockchainRecord]:
    """Return the blockchains that a subnet validates, or all; the P-Chain itself is not included.

    They are in order of creation. NODE_PARAMETERS=avalanchego selects the reference's order: the
    blockchains of subnets, by subnet, then the C-Chain and the X-Chain. The reference reads the last two from a
    linked list that begins with the newest entry. Unspecified: within a subnet, and among subnets, the reference's
    order depends on when the node was started; here it is the order of creation.
    """
    if subnet_id is not None:
        rows = chain.db.rows(_OF_SUBNET, (subnet_id,))
    else:
        rows = chain.db.rows(_BY_SUBNET if chain.answers_as_reference else _ALL_BLOCKCHAINS)
    blockchains = list(map(_blockchain, rows))
    if not chain.answers_as_reference:
        return blockchains
    primary = [record for record in blockchains if record.subnet_id == PRIMARY_NETWORK_ID]
    return [*blockchains[: len(blockchains) - len(primary)], *reversed(primary)]


def blockchains_after(chain: PlatformChain, position: int) -> list[tuple[int, BlockchainRecord]]:
    """Return the blockchains that were created after one, with their positions in the order of creation."""
    rows = chain.db.rows(_LATER_BLOCKCHAINS, (position,))
    return [(int(place), _blockchain(tuple(row))) for place, *row in rows]


def blockchain(chain: PlatformChain, blockchain_id: ID) -> BlockchainRecord | None:
    """Return a blockchain; None if it does not exist."""
    row = chain.db.row(_ONE_BLOCKCHAIN, (blockchain_id,))
    return None if row is None else _blockchain(row)


def _subnet(row: tuple[Any, ...]) -> SubnetRecord:
    subnet_id, locktime, threshold, owner = row
    return SubnetRecord(ID(bytes(subnet_id)), int(locktime), threshold, bytes(owner))


def _blockchain(row: tuple[Any, ...]) -> BlockchainRecord:
    blockchain_id, subnet_id, name, vm_id = row
    return BlockchainRecord(ID(bytes(blockchain_id)), ID(bytes(subnet_id)), name, ID(bytes(vm_id)))
