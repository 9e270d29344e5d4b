"""The rules for a header and its parent on Ethereum. Pure.

Unlike `blocks.verification`, which has the rules of this node's own blocks, this module accepts all values that
a miner or proposer may choose: coinbase, gas limit within its bounds, extra data, time, difficulty, PREVRANDAO,
beacon root. Unspecified: seals and difficulty are not verified. A block may have the same time as its parent, as on
Avalanche's chains; Ethereum requires a later time.
"""

from typing import Final

from cchain_app.blocks import errors
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.blobs import excess_after
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.verification import (
    EMPTY_NONCE,
    compare,
    verify_extra_data,
    verify_place,
)
from cchain_app.config import at_least
from cchain_app.feemarket import (
    ELASTICITY_MULTIPLIER,
    GAS_LIMIT_BOUND_DIVISOR,
    MIN_GAS_LIMIT,
)
from cchain_app.foreign.errors import ForeignBlockReason, InvalidForeignBlock
from cchain_app.rules.port import ChainRules
from primitives.evm import ZERO_HASH

HIGHEST_GAS_LIMIT: Final = 2**63 - 1


def verify_header(candidate: CandidateBlock, parent: AcceptedBlock, rules: ChainRules) -> None:
    """Verify a block's header against its parent and the fork that follows from its number, time and difficulty.

    The fields that depend on the body and its execution are verified elsewhere.

    Raises:
        InvalidBlock: By a subclass.
    """
    header = candidate.header
    verify_place(header, parent, now=header.timestamp)
    verify_extra_data(header)
    fork = rules.config.fork_at(header.number, header.timestamp, header.difficulty)
    _verify_gas(candidate, parent, fork)
    _verify_fees(candidate, parent, rules, fork)
    _verify_beacon_root(candidate, fork)
    if at_least(fork, "paris"):
        compare(
            [
                (errors.WrongDifficulty, header.difficulty, 0),
                (errors.WrongNonce, header.nonce, EMPTY_NONCE),
            ]
        )


def _verify_gas(candidate: CandidateBlock, parent: AcceptedBlock, fork: str) -> None:
    header, before = candidate.header, parent.header.gas_limit
    if at_least(fork, "london") and parent.header.base_fee is None:
        before *= ELASTICITY_MULTIPLIER
    step = before // GAS_LIMIT_BOUND_DIVISOR - 1
    lowest, highest = max(before - step, MIN_GAS_LIMIT), min(before + step, HIGHEST_GAS_LIMIT)
    if not lowest <= header.gas_limit <= highest:
        raise InvalidForeignBlock(
            ForeignBlockReason.GAS_LIMIT, have=header.gas_limit, lowest=lowest, highest=highest
        )
    if header.gas_used > header.gas_limit:
        raise InvalidForeignBlock(
            ForeignBlockReason.GAS_USED, have=header.gas_used, limit=header.gas_limit
        )


def _verify_fees(
    candidate: CandidateBlock, parent: AcceptedBlock, rules: ChainRules, fork: str
) -> None:
    header, excess = candidate.header, None
    blobs = rules.config.blob_params_at(header.number, header.timestamp)
    if blobs is not None:
        excess = excess_after(parent.header, blobs, fork)
    base_fee = rules.base_fee_after(parent, header.timestamp)
    compare(
        [
            (errors.WrongBaseFee, header.base_fee, base_fee),
            (errors.WrongExcessBlobGas, header.excess_blob_gas, excess),
        ]
    )


def _verify_beacon_root(candidate: CandidateBlock, fork: str) -> None:
    """Check that there is a beacon root since Cancun; its value cannot be verified here."""
    have = candidate.header.parent_beacon_block_root
    want = (have or ZERO_HASH) if at_least(fork, "cancun") else None
    compare([(errors.WrongBeaconRoot, have, want)])
