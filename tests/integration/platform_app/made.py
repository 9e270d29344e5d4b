"""Transactions of ewoq, made but not issued: transfers, conflicting transactions, and stakers of all kinds.

Starts and ends are seconds from the test's current time.
"""

from dataclasses import replace
from typing import Any

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.config import UNIT
from platform_app.selectors import accepted, outputs
from platform_app.txs.base import BaseTx, StakingPeriod, Tx, inner_output
from platform_app.txs.codec import CODEC
from platform_app.txs.staking import (
    AddDelegatorTx,
    AddPermissionlessDelegatorTx,
    AddPermissionlessValidatorTx,
    AddValidatorTx,
)
from platform_app.txs.subnets import AddSubnetValidatorTx, CreateSubnetTx, ExportTx
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from primitives.keys import EWOQ_KEY
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain
from utxo.components import UTXO

STAKE = platform.CONFIG.min_validator_stake
DELEGATION = platform.CONFIG.min_delegator_stake
OWNERS = platform.owners(EWOQ)


def split(pchain: PChain, count: int, amount: int = UNIT) -> None:
    """Give ewoq `count` coins of an amount, in a block of its own."""
    pchain.do(pchain.make(BaseTx, *(pchain.output(amount, EWOQ) for _ in range(count))))


def payments(pchain: PChain, count: int, amount: int = UNIT) -> list[Tx]:
    """Return `count` transfers that spend one coin each, not yet issued."""
    split(pchain, count, amount)
    small = [coin for coin in pchain.coins() if inner_output(coin.output).amount == amount]
    return [
        signed(
            platform.unsigned(
                inputs=platform.spend_all(coin), outputs=(pchain.output(amount - 2_000, EWOQ),)
            )
        )
        for coin in small[:count]
    ]


def rival(tx: Tx, memo: bytes = b"rival") -> Tx:
    """Return another transaction that spends the same inputs."""
    return signed(replace(tx.unsigned, memo=memo))  # type: ignore[type-var]


def signed(unsigned: Any) -> Tx:
    """Sign with ewoq's key wherever a signature is required."""
    return platform.signed(unsigned, [[EWOQ_KEY]] * platform.credential_count(unsigned))


def node(name: str) -> NodeID:
    """Return a node ID derived from a name."""
    return NodeID(sha256(name.encode())[:20])


def period(pchain: PChain, name: str, weight: int, start: int, end: int) -> StakingPeriod:
    """Return a staking period; with a start of zero it starts immediately."""
    return StakingPeriod(node(name), pchain.now + start if start else 0, pchain.now + end, weight)


def validator(
    pchain: PChain, name: str, *, end: int, weight: int = STAKE, shares: int = 100_000
) -> Tx:
    """Return a transaction that makes a node a validator immediately."""
    return pchain.make(
        AddPermissionlessValidatorTx,
        validator=period(pchain, name, weight, 0, end),
        stake=pchain.stake(weight),
        signer=platform.proof_of_possession(),
        validation_rewards_owner=OWNERS,
        delegation_rewards_owner=OWNERS,
        shares=shares,
    )


def export(pchain: PChain, destination: ID, amount: int = UNIT) -> Tx:
    """Return a transaction that exports an amount to ewoq on another chain."""
    exported = (pchain.output(amount, EWOQ),)
    return pchain.make(ExportTx, destination_chain=destination, exported_outputs=exported)


def scheduled_validator(
    pchain: PChain, name: str, *, start: int, end: int, weight: int = STAKE
) -> Tx:
    """Return a transaction that makes a node a validator later."""
    return pchain.make(
        AddValidatorTx,
        validator=period(pchain, name, weight, start, end),
        stake=pchain.stake(weight),
        rewards_owner=OWNERS,
    )


def delegator(
    pchain: PChain, name: str, *, end: int, start: int = 0, weight: int = DELEGATION
) -> Tx:
    """Return a transaction that delegates to a node immediately, or a scheduled one that delegates later."""
    cls = AddDelegatorTx if start else AddPermissionlessDelegatorTx
    return pchain.make(
        cls,
        validator=period(pchain, name, weight, start, end),
        stake=pchain.stake(weight),
        rewards_owner=OWNERS,
    )


def subnet(pchain: PChain) -> ID:
    """Create a subnet owned by ewoq, and return its ID."""
    return pchain.do(pchain.make(CreateSubnetTx, owner=OWNERS, burn=UNIT)).tx_id


def subnet_validator(pchain: PChain, subnet_id: ID, name: str, *, start: int, end: int) -> Tx:
    """Return a transaction that lets a node validate a subnet later."""
    return pchain.make(
        AddSubnetValidatorTx,
        validator=platform.subnet_validator(
            node_id=node(name),
            start=pchain.now + start,
            end=pchain.now + end,
            subnet_id=subnet_id,
        ),
    )


def staker_of(tx: Any) -> models.Staker:
    return models.Staker.objects.get(tx_id=tx.tx_id)


def supply() -> int:
    found = accepted.supply(platform_chain(), PRIMARY_NETWORK_ID)
    assert found is not None
    return found


def paid(tx: Any) -> dict[int, int]:
    """Return the reward amounts of a staking transaction by output index."""
    found = [CODEC.unmarshal(UTXO, raw) for raw in outputs.reward_utxos(platform_chain(), tx.tx_id)]
    return {item.output_index: inner_output(item.output).amount for item in found}
