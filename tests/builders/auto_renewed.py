"""Auto-renewed validators in memory: a network with Helicon, and transactions about them."""

from dataclasses import replace
from typing import Any

from platform_app.config import PlatformConfig
from platform_app.state.chain import Diff
from platform_app.state.stakers import AutoRenewal, Staker
from platform_app.txs.base import Tx
from platform_app.txs.l1 import AddAutoRenewedValidatorTx, SetAutoRenewedValidatorConfigTx
from tests.builders import platform
from tests.builders.platform_state import PURSE, MemoryState, env, executed

CONFIG: PlatformConfig = replace(
    platform.CONFIG, upgrades=replace(platform.CONFIG.upgrades, helicon=platform.NOW - 1)
)
"""A network on which Helicon is active since a second ago."""
ENV = env(config=CONFIG)
HOUR = 60 * 60
VALIDATION, DELEGATION, AUTHORITY = map(platform.owners, platform.ADDRESSES[:3])
AUTHORITY_KEY = platform.KEYS[2]


def adding(**changes: Any) -> Tx:
    """Return a signed AddAutoRenewedValidatorTx for an hour that is paid from `PURSE`; `weight` changes the stake."""
    weight = changes.pop("weight", CONFIG.min_validator_stake)
    fields = {
        "inputs": platform.spend_all(PURSE),
        "outputs": (),
        "stake": platform.outputs(weight),
        "validation_rewards_owner": VALIDATION,
        "delegation_rewards_owner": DELEGATION,
        "validator_authority": AUTHORITY,
        "period": HOUR,
    }
    return platform.signed(AddAutoRenewedValidatorTx, **{**fields, **changes})


def changing(tx_id: Any, *, key: Any = AUTHORITY_KEY, **changes: Any) -> Tx:
    """Return a SetAutoRenewedValidatorConfigTx that a key authorizes."""
    fields = {"tx_id": tx_id, "period": 2 * HOUR, "auto_compound_reward_shares": 0, **changes}
    unsigned = platform.unsigned(SetAutoRenewedValidatorConfigTx, **fields)
    paying = platform.credential_count(unsigned) - 1
    return platform.signed(unsigned, [*[[platform.KEYS[0]]] * paying, [key]])


def seated(holder: MemoryState, **changes: Any) -> Staker:
    """Add an auto-renewed validator to a state, and return it."""
    tx = adding(**changes)
    holder.accept(executed(tx, holder, ENV))
    return holder.stakers[tx.tx_id]


def terms_of(state: Any, staker: Staker) -> AutoRenewal:
    """Return the terms on which a validator is renewed."""
    found: AutoRenewal | None = state.stakers.auto_renewal(staker.tx_id)
    assert found is not None
    return found


def at_end(holder: MemoryState, staker: Staker) -> MemoryState:
    """Move a state's time to the end of a staker's period."""
    diff = Diff(holder)
    diff.clock.set_timestamp(staker.end)
    holder.accept(diff)
    return holder
