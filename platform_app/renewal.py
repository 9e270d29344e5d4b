"""Renewal of the local network's own validator, so that the network never runs out of validators."""

import logging
from time import monotonic

from platform_app.chain import PlatformChain
from platform_app.executor.clock import at_next_block, next_block_time
from platform_app.executor.standard import execute
from platform_app.selectors import coins, own_stake
from platform_app.selectors.own_stake import Terms
from platform_app.services.errors import IssueReason, TransactionTooLarge
from platform_app.services.mempool import LARGEST_TX
from platform_app.store.state import DatabaseState
from platform_app.txs.base import StakingPeriod, Tx, inner_output
from platform_app.wallet.errors import NotBuilt
from platform_app.wallet.transactions import build_add_permissionless_validator
from platform_app.wallet.wallet import PlatformWallet
from primitives.codec_errors import CodecError
from primitives.ids import ID, NodeID
from primitives.keys import VMRQ_KEY
from primitives.node_identity import NoCertificate
from utxo.coins import Keychain
from utxo.errors import InvalidTx

MAX_COINS = 200
"""The maximum number of coins to stake: each takes about 250 bytes of the transaction."""
PAUSE = 10.0
"""Seconds before the next attempt on the same block: only pending transactions can have changed meanwhile."""

_log = logging.getLogger(__name__)


class Renewal:
    """Makes a node a validator again, each time that its staking period ends.

    It remembers its attempts, so that it neither retries nor logs constantly.

    Args:
        chain: The chain that the node validates.
    """

    def __init__(self, chain: PlatformChain) -> None:
        self._chain = chain
        self._tip: ID | None = None
        """The last block at the time of the last attempt."""
        self._retry_at = 0.0
        """The time of the next attempt on the same block, on the monotonic clock, in seconds."""
        self._logged_failures: set[type[Exception]] = set()
        """The types of failures logged since the last success. Types, because the messages contain varying amounts."""

    def propose(self, *, now: int) -> Tx | None:
        """Return a transaction that makes this node a validator again.

        Return None while this node is a validator or is scheduled to become one, and if it never was one.
        That is the case for almost every block, and costs at most one query by a unique index.
        Return None, too, within `PAUSE` of the last attempt, as long as no block has been accepted since.

        The caller builds the next block at the time `now`: the new staking period begins with that block,
        and lasts as long as the network allows. Nothing is written here.

        Unspecified: the network's own funds, whose key is public (vmRQ), are staked with the weight,
        delegation fee, BLS key and reward owners of this node's last staking period. The weight is lower if
        its `MAX_COINS` largest coins amount to less or the network allows less. If not even the minimum
        stake is left, or another transaction has made this one impossible, that is logged once and the
        validator is not renewed. The same happens if the process that builds blocks has no staking certificate.
        """
        chain = self._chain
        node_id = self._own_node_id()
        if node_id is None or own_stake.is_validator(chain, node_id):
            return None
        state = DatabaseState(chain.db)
        if not self._may_begin(state.tip.block_id):
            return None
        terms = own_stake.last_terms(chain, node_id)
        if terms is None or own_stake.has_pending_validator_tx(chain, node_id):
            return None
        try:
            tx = _build(chain, node_id, terms, state, now)
            _check(chain, tx, state, now)
        except (NotBuilt, InvalidTx, TransactionTooLarge, CodecError) as reason:
            self._warn(reason, f"{node_id} cannot become a validator again: {reason}")
            return None
        self._logged_failures.clear()
        return tx

    def undo(self) -> None:
        """Record that the block of the last attempt failed: the attempt may be repeated."""
        self._tip = None

    def _may_begin(self, tip: ID) -> bool:
        """Return whether an attempt is due; if so, record that it is made."""
        if tip == self._tip and monotonic() < self._retry_at:
            return False
        self._tip, self._retry_at = tip, monotonic() + PAUSE
        return True

    def _own_node_id(self) -> NodeID | None:
        """Return the ID of this node; None if its certificate cannot be read."""
        try:
            return self._chain.node_id
        except (OSError, NoCertificate) as reason:
            self._warn(
                reason,
                f"the block producer needs the node's certificate to renew its staking period: {reason}",
            )
            return None

    def _warn(self, reason: Exception, message: str) -> None:
        """Log why the renewal failed, once per type of failure."""
        if type(reason) not in self._logged_failures:
            self._logged_failures.add(type(reason))
            _log.warning(message)


def _check(chain: PlatformChain, tx: Tx, state: DatabaseState, now: int) -> None:
    """Check that the transaction can be included in the next block.

    Raises:
        TransactionTooLarge: It is larger than the mempool's limit.
        InvalidTx: It violates the rules.
    """
    if len(tx.raw) > LARGEST_TX:
        raise TransactionTooLarge(
            IssueReason.TOO_LARGE, tx_id=tx.tx_id, size=len(tx.raw), largest=LARGEST_TX
        )
    execute(tx, at_next_block(state, now, chain.config), chain.env(state.network, now))


def _build(
    chain: PlatformChain, node_id: NodeID, terms: Terms, state: DatabaseState, now: int
) -> Tx:
    config, keychain = chain.config, Keychain.of([VMRQ_KEY])
    time = next_block_time(state, now, config)
    (address,) = keychain.addresses
    wallet = PlatformWallet(
        config=config,
        asset_id=state.network.asset_id,
        keychain=keychain,
        utxos=coins.largest_free_coins(
            chain, address, asset_id=state.network.asset_id, now=now, most=MAX_COINS
        ),
        change_address=address,
        now=now,
    )
    weight = min(terms.weight, config.max_validator_stake, _total(wallet))
    validator = StakingPeriod(
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


def _total(wallet: PlatformWallet) -> int:
    """Return how much a wallet can stake, locked coins included, without the coins that pay the fee."""
    usable = (
        inner_output(utxo.output).amount
        for utxo in wallet.utxos
        if wallet.input_for(utxo) or wallet.stake_input_for(utxo)
    )
    return max(0, sum(usable) - wallet.config.fees.add_primary_network_validator)
