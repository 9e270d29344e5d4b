"""The local network's own validator renews itself, so that the network never runs out of validators."""

import logging
from functools import lru_cache

from chaindb.locks import Lock, acquire
from platform_app import runtime
from platform_app.executor.clock import at_next_block, next_block_time
from platform_app.executor.standard import execute
from platform_app.selectors import coins, own_stake
from platform_app.selectors.own_stake import Terms
from platform_app.services.environment import env
from platform_app.store import mempool
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.components import Validator, inner_output
from platform_app.txs.errors import InvalidTx
from platform_app.wallet.errors import NotBuilt
from platform_app.wallet.keychain import Keychain
from platform_app.wallet.transactions import build_add_permissionless_validator
from platform_app.wallet.wallet import Wallet
from primitives.devkeys import VMRQ_KEY
from primitives.ids import NodeID
from primitives.networks import LOCAL

_log = logging.getLogger(__name__)


def renew_own_validator(*, now: int) -> Tx | None:
    """Put a transaction into the mempool that makes this node a validator again, and return it.

    None on other networks, while this node is a validator or waits to be one, and where it never was.
    Then it costs one question by a unique index at most, which is what almost every block pays.

    The caller holds `Lock.PCHAIN` and the transaction, and builds a block next, at the time `now`: then
    the new stay begins with that block, and lasts as long as the network allows.

    Unspecified: the network's own funds, which everybody knows the key of (vmRQ), are staked with the
    weight, delegation fee, BLS key and reward owners of this node's last stay: less, if there is less
    left or the network allows less. Where even the least stake is not left, or somebody has made the
    transaction impossible, that is logged once and the network goes without.
    """
    config = runtime.config()
    if config.network_id != LOCAL or own_stake.is_validator(runtime.node_id()):
        return None
    acquire(Lock.PCHAIN_MEMPOOL)
    node_id = runtime.node_id()
    terms = own_stake.last_terms(node_id)
    if terms is None or own_stake.waits_to_be_validator(node_id):
        return None
    state = DatabaseState()
    try:
        tx = _build(node_id, terms, state, now)
        execute(tx, at_next_block(state, now, config), env(state.network, now))
    except (NotBuilt, InvalidTx) as reason:
        _warn(node_id, str(reason))
        return None
    mempool.add([tx], now)
    return tx


def _build(node_id: NodeID, terms: Terms, state: DatabaseState, now: int) -> Tx:
    config, keychain = runtime.config(), Keychain.of([VMRQ_KEY])
    time = next_block_time(state, now)
    (address,) = keychain.addresses
    wallet = Wallet(
        config=config,
        asset_id=state.network.asset_id,
        keychain=keychain,
        utxos=coins.free_coins_of([address]),
        change_address=address,
        now=now,
    )
    weight = min(terms.weight, config.max_validator_stake, _total(wallet))
    validator = Validator(
        node_id, time, time + config.max_stake_duration, max(weight, config.min_validator_stake)
    )
    return build_add_permissionless_validator(
        wallet,
        validator,
        signer=terms.signer,
        validation_rewards_owner=terms.validation_rewards_owner,
        delegation_rewards_owner=terms.delegation_rewards_owner,
        shares=terms.shares,
    )


def _total(wallet: Wallet) -> int:
    """Return how much a wallet can stake: behind a lock or not, but not what pays the fee."""
    usable = (
        inner_output(utxo.output).amount
        for utxo in wallet.utxos
        if utxo.asset_id == wallet.asset_id and wallet.open(utxo)
    )
    return max(0, sum(usable) - wallet.config.fees.add_primary_network_validator)


@lru_cache(maxsize=16)
def _warn(node_id: NodeID, reason: str) -> None:
    """Say once why there is no renewal: this is tried with every block."""
    _log.warning("%s cannot become a validator again: %s", node_id, reason)
