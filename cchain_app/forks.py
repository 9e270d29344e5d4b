"""Effects of a fork besides its rules: its part in a chain's fork ID, precompiles, system contracts.

EIP-2124 and EIP-6122 (fork ID), EIP-7910 (names). Pure. Which fork is active at a block is in
`config.ForkSchedule`.
"""

import zlib
from collections.abc import Mapping
from typing import Final

from cchain_app.config import DEPOSIT_CONTRACT, ForkSchedule, at_least
from primitives.evm import Address, Hash

_PRECOMPILES: Final = (
    ("frontier", "ECREC", 0x01),
    ("frontier", "SHA256", 0x02),
    ("frontier", "RIPEMD160", 0x03),
    ("frontier", "ID", 0x04),
    ("byzantium", "MODEXP", 0x05),
    ("byzantium", "BN254_ADD", 0x06),
    ("byzantium", "BN254_MUL", 0x07),
    ("byzantium", "BN254_PAIRING", 0x08),
    ("istanbul", "BLAKE2F", 0x09),
    ("cancun", "KZG_POINT_EVALUATION", 0x0A),
    ("prague", "BLS12_G1ADD", 0x0B),
    ("prague", "BLS12_G1MSM", 0x0C),
    ("prague", "BLS12_G2ADD", 0x0D),
    ("prague", "BLS12_G2MSM", 0x0E),
    ("prague", "BLS12_PAIRING_CHECK", 0x0F),
    ("prague", "BLS12_MAP_FP_TO_G1", 0x10),
    ("prague", "BLS12_MAP_FP2_TO_G2", 0x11),
    ("osaka", "P256VERIFY", 0x100),
)
_SYSTEM_CONTRACTS: Final = (
    ("cancun", "BEACON_ROOTS_ADDRESS", "000f3df6d732807ef1319fb7b8bb8522d0beac02"),
    ("prague", "HISTORY_STORAGE_ADDRESS", "0000f90827f1c53a10cb7a02335b175320002935"),
    ("prague", "DEPOSIT_CONTRACT_ADDRESS", DEPOSIT_CONTRACT.hex()),
    ("prague", "WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS", "00000961ef480eb55e80d19ad83579a64c007002"),
    (
        "prague",
        "CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS",
        "0000bbddc7ce488642fb579f8b00f3a590007251",
    ),
)


def fork_id(schedule: ForkSchedule, genesis_hash: Hash, genesis_time: int, *, time: int) -> bytes:
    """Return the fork hash by which peers recognize a chain: of the genesis and each fork that has begun.

    Forks that begin together count once, and forks at block 0 are not counted. A fork with a block number
    always counts as begun.

    Args:
        schedule: When forks begin.
        genesis_hash: Hash of block 0.
        genesis_time: Timestamp of block 0 in Unix seconds.
        time: The time for which the hash is computed, in Unix seconds.
    """
    blocks = {block for block in schedule.named_blocks if block > 0}
    times = {first for first in schedule.times.values() if genesis_time < first <= time}
    checksum = zlib.crc32(genesis_hash)
    for begin in (*sorted(blocks), *sorted(times)):
        checksum = zlib.crc32(begin.to_bytes(8, "big"), checksum)
    return checksum.to_bytes(4, "big")


def precompiles(fork: str) -> Mapping[str, Address]:
    """Return the addresses of a fork's precompiled contracts by name, sorted by name."""
    return {
        name: Address(number.to_bytes(20, "big"))
        for since, name, number in sorted(_PRECOMPILES, key=_by_name)
        if at_least(fork, since)
    }


def system_contracts(fork: str) -> Mapping[str, Address]:
    """Return the contracts that a fork's blocks call or read by name, sorted by name."""
    return {
        name: Address(bytes.fromhex(address))
        for since, name, address in sorted(_SYSTEM_CONTRACTS, key=_by_name)
        if at_least(fork, since)
    }


def _by_name(row: tuple[str, str, object]) -> str:
    return row[1]
