"""Transactions about one auto-renewed validator, all of whose rights ewoq has."""

from typing import Any

from platform_app.config import MILLION, REFERENCE_UNIT
from platform_app.txs.base import Tx
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, SetAutoRenewedValidatorConfigTx
from tests.builders import platform
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import OWNERS, node

HOUR = 60 * 60
STAKE = 2_000 * REFERENCE_UNIT
NODE = node("renewed")


def adding(pchain: PChain, *, shares: int = MILLION, period: int = HOUR, **changes: Any) -> Tx:
    """Return a transaction that makes a node an auto-renewed validator; ewoq has all its rights."""
    fields = {
        "node_id": bytes(NODE),
        "stake": pchain.stake(STAKE),
        "signer": platform.proof_of_possession(),
        "validation_rewards_owner": OWNERS,
        "delegation_rewards_owner": OWNERS,
        "validator_authority": OWNERS,
        "delegation_shares": 100_000,
        "auto_compound_reward_shares": shares,
        "period": period,
        **changes,
    }
    return pchain.make(AddAutoRenewedValidatorTx, **fields)


def changing(pchain: PChain, tx: Tx, *, shares: int = 0, period: int = HOUR) -> Tx:
    """Return a transaction that changes the terms of the renewal."""
    return pchain.make(
        SetAutoRenewedValidatorConfigTx,
        tx_id=tx.tx_id,
        auto_compound_reward_shares=shares,
        period=period,
    )
