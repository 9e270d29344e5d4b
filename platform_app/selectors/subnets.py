"""Subnets with their owners, and blockchains, in the order in which they were created."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from platform_app.chain import PlatformChain
from platform_app.store import rows
from platform_app.txs.components import OutputOwners
from primitives.ids import ID

_SUBNETS = "SELECT subnet_id, locktime, threshold, owner FROM platform_app_subnet "
_ALL_SUBNETS = _SUBNETS + "ORDER BY position"
_SOME_SUBNETS = _SUBNETS + "WHERE subnet_id IN ({keys})"
_BLOCKCHAINS = "SELECT blockchain_id, subnet_id, name, vm_id FROM platform_app_blockchain "
_ALL_BLOCKCHAINS = _BLOCKCHAINS + "ORDER BY position"
_OF_SUBNET = _BLOCKCHAINS + "WHERE subnet_id = %s ORDER BY position"
_ONE_BLOCKCHAIN = _BLOCKCHAINS + "WHERE blockchain_id = %s"


class Subnet(NamedTuple):
    """A subnet and who controls it."""

    subnet_id: ID
    locktime: int
    threshold: int
    raw_owner: bytes
    """`OutputOwners` without type ID."""

    @property
    def owner(self) -> OutputOwners:
        """Who controls it, parsed: there can be thousands of addresses."""
        return rows.owners_of(self.raw_owner)


class Blockchain(NamedTuple):
    """A blockchain; its genesis is in the transaction that has its ID."""

    blockchain_id: ID
    subnet_id: ID
    name: str
    vm_id: ID


def subnets(chain: PlatformChain, subnet_ids: Sequence[ID] | None = None) -> list[Subnet]:
    """Return all subnets, or those of these that exist, in the given order and each once."""
    if subnet_ids is None:
        return [_subnet(row) for row in chain.db.rows(_ALL_SUBNETS)]
    wanted = list(dict.fromkeys(subnet_ids))
    found = {
        one.subnet_id: one for one in map(_subnet, chain.db.rows_by_keys(_SOME_SUBNETS, wanted))
    }
    return [found[subnet_id] for subnet_id in wanted if subnet_id in found]


def subnet(chain: PlatformChain, subnet_id: ID) -> Subnet | None:
    """Return a subnet, or None for one that does not exist and for the Primary Network."""
    found = subnets(chain, [subnet_id])
    return found[0] if found else None


def blockchains(chain: PlatformChain, subnet_id: ID | None = None) -> list[Blockchain]:
    """Return the blockchains that a subnet validates, or all; the P-Chain itself is not there."""
    if subnet_id is None:
        return [_blockchain(row) for row in chain.db.rows(_ALL_BLOCKCHAINS)]
    return [_blockchain(row) for row in chain.db.rows(_OF_SUBNET, (subnet_id,))]


def blockchain(chain: PlatformChain, blockchain_id: ID) -> Blockchain | None:
    """Return a blockchain, or None for one that does not exist."""
    row = chain.db.row(_ONE_BLOCKCHAIN, (blockchain_id,))
    return None if row is None else _blockchain(row)


def _subnet(row: tuple[Any, ...]) -> Subnet:
    subnet_id, locktime, threshold, owner = row
    return Subnet(ID(bytes(subnet_id)), int(locktime), threshold, bytes(owner))


def _blockchain(row: tuple[Any, ...]) -> Blockchain:
    blockchain_id, subnet_id, name, vm_id = row
    return Blockchain(ID(bytes(blockchain_id)), ID(bytes(subnet_id)), name, ID(bytes(vm_id)))
