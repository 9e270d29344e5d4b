"""Blocks by ID and by height, validator sets at any height, and samples of the current set."""

from bisect import bisect_right
from collections import defaultdict
from itertools import accumulate
from secrets import SystemRandom
from typing import Any, Final

from jsonrpc.errors import JsonRpcError
from platform_app.api.chains import proposed_height
from platform_app.api.errors import NOT_FOUND, refused
from platform_app.api.params import ProposedHeight
from platform_app.api.rpc import PlatformRpc
from platform_app.api.wire import Json
from platform_app.blocks.block import parse_block, render_block
from platform_app.memory.stakers import Member, Members
from platform_app.selectors import accepted, stakers
from platform_app.selectors.accepted import StoredBlock
from primitives.checksummed import TextEncoding, encode
from primitives.ids import ID, NodeID


def get_block(rpc: PlatformRpc, block_id: ID, encoding: TextEncoding) -> Json:
    """platform.getBlock: an accepted block by its ID."""
    block = accepted.block(rpc.chain, block_id)
    if block is None:
        raise refused(f"couldn't get block with id {block_id}: {NOT_FOUND}")
    return _to_json(rpc, block, encoding)


def get_block_by_height(rpc: PlatformRpc, height: int, encoding: TextEncoding) -> Json:
    """platform.getBlockByHeight: an accepted block by its height; the genesis block is at 0."""
    block = accepted.block_at(rpc.chain, height)
    if block is None:
        raise refused(f"couldn't get block at height {height}: {NOT_FOUND}")
    return _to_json(rpc, block, encoding)


def _to_json(rpc: PlatformRpc, block: StoredBlock, encoding: TextEncoding) -> Json:
    """Return a block in the requested encoding; in JSON all its numbers are plain, as in the reference."""
    if encoding is TextEncoding.JSON:
        return {
            "block": render_block(parse_block(block.raw), rpc.address),
            "encoding": encoding.value,
        }
    return {"block": encode(block.raw, encoding), "encoding": encoding.value}


_FLAGS: Final = 0xE0
"""Flag bits in the first byte of a compressed BLS key."""
_SIGN: Final = 0x20
"""The flag that selects the greater of the two points."""

_random: Final = SystemRandom()


def get_validators_at(rpc: PlatformRpc, height: int | ProposedHeight, subnet_id: ID) -> Json:
    """platform.getValidatorsAt: the validators of a subnet after the block at a height.

    Unspecified: the set is a member of the result (gaps.md 3); with the reference's parameters it is the
    result, as in the current reference (pchain.md 8.2). Weights include delegators.
    """
    wanted = _wanted(rpc, height)
    members = stakers.validators_at(rpc.chain, wanted, subnet_id)
    if members is None:
        raise _not_yet(rpc, wanted, subnet_id)
    shown = {rpc.node_text(node_id): _member(member) for node_id, member in members.items()}
    return shown if rpc.chain.answers_as_reference else {"validators": shown}


def get_all_validators_at(rpc: PlatformRpc, height: int | ProposedHeight) -> Json:
    """platform.getAllValidatorsAt: the canonical validator sets of all subnets at a height.

    Unspecified: besides the Primary Network only subnets that had validators are included.
    """
    wanted = _wanted(rpc, height)
    sets = stakers.all_validators_at(rpc.chain, wanted)
    if sets is None:
        raise _not_yet(rpc, wanted, None)
    return {
        "validatorSets": {
            str(subnet_id): _canonical(rpc, members) for subnet_id, members in sets.items()
        }
    }


def sample_validators(rpc: PlatformRpc, size: int, subnet_id: ID) -> Json:
    """platform.sampleValidators: validators sampled by weight, sorted by node ID.

    Unspecified: units of weight are sampled without replacement, so a node can appear several
    times; delegators count for their validator.
    """
    return {"validators": [rpc.node_text(node_id) for node_id in _sample(rpc, size, subnet_id)]}


def _sample(rpc: PlatformRpc, size: int, subnet_id: ID) -> list[NodeID]:
    if size == 0:
        return []
    members = sorted(stakers.current_members(rpc.chain, subnet_id).items())
    if not members:
        raise refused(f"sampling {subnet_id} errored with missing validators")
    bounds = list(accumulate(member.weight for _, member in members))
    if size > bounds[-1]:
        raise refused(f"sampling {subnet_id} errored with insufficient weight")
    return [members[bisect_right(bounds, unit)][0] for unit in _units(size, bounds[-1])]


def _units(size: int, weight: int) -> list[int]:
    """Draw a number of different units of a weight, all sets of them equally likely; sorted.

    The weight of a subnet may exceed the maximum length of a `range`. This is Floyd's algorithm: a unit
    that was already drawn is replaced by the last unit of the current range, which is new.
    """
    drawn: set[int] = set()
    for last in range(weight - size, weight):
        unit = _random.randrange(last + 1)
        drawn.add(last if unit in drawn else unit)
    return sorted(drawn)


def _wanted(rpc: PlatformRpc, height: int | ProposedHeight) -> int:
    return proposed_height(rpc) if isinstance(height, ProposedHeight) else height


def _not_yet(rpc: PlatformRpc, wanted: int, subnet_id: ID | None) -> JsonRpcError:
    return refused(
        f"failed to get validator {'set' if subnet_id else 'sets'} at {wanted}: failed to fetch "
        f"validator set at unfinalized height{f' with SubnetID = {subnet_id}' if subnet_id else ''}: "
        f"current P-chain height ({rpc.chain.tip().height}) < requested P-Chain height ({wanted})"
    )


def _member(member: Member) -> Json:
    key = member.public_key
    return {
        "publicKey": None if key is None else "0x" + key.hex(),
        "weight": str(member.weight),
    }


def _canonical(rpc: PlatformRpc, members: Members) -> Json:
    """Return the canonical set, by key, for verifying signatures; nodes without a key only add weight."""
    by_key: defaultdict[bytes, list[NodeID]] = defaultdict(list)
    for node_id, member in members.items():
        if member.public_key is not None:
            by_key[member.public_key].append(node_id)
    shown: list[dict[str, Any]] = [
        {
            "publicKey": "0x" + key.hex(),
            "weight": str(sum(members[node_id].weight for node_id in by_key[key])),
            "nodeIDs": [rpc.node_text(node_id) for node_id in sorted(by_key[key])],
        }
        for key in sorted(by_key, key=_uncompressed_order)
    ]
    total = sum(member.weight for member in members.values())
    return {"validators": shown, "totalWeight": str(total)}


def _uncompressed_order(key: bytes) -> tuple[bytes, int]:
    """Return a sort key that sorts compressed keys like their uncompressed forms."""
    return bytes([key[0] & ~_FLAGS & 0xFF]) + key[1:], key[0] & _SIGN
