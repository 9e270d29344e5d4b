"""Transactions with the keystore's keys: coins are selected, then the transaction is built, signed and issued.

See pchain.md 8.3. Reading the keys and building change nothing; issuing is one transaction of `mempool`.
`wallet_retry` handles coins that other requests spend meanwhile.

Unspecified: addresses in `from` that the user does not hold are ignored. Change goes to the oldest of the
paying keys, unless another address is given. The same request made twice, even concurrently, gives two
transactions; if there are no other coins to pay for it, the second conflicts with the first. Raised by all:

    KeystoreError   name or password are wrong, or cannot be checked now; or no key can pay
    TxNotCreated    coins, subnet or syntax do not allow it
    RefusedIssue    the mempool rejects it for now
    InvalidTx       the rules reject it
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from platform_app.chain import PlatformChain
from platform_app.selectors import coins
from platform_app.services import keystore
from platform_app.services.wallet_retry import Build, build_and_issue
from platform_app.txs.base import StakingPeriod, SubnetValidator
from platform_app.wallet import moving, requirements, transactions
from platform_app.wallet.errors import KeystoreError, KeystoreReason, WalletError, WalletReason
from platform_app.wallet.wallet import PlatformWallet
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID, ShortID
from utxo.coins import Keychain


@dataclass(frozen=True, slots=True)
class Payer:
    """The user whose keys pay and sign. The password is not in its repr."""

    username: str
    password: str = field(repr=False)
    addresses: Collection[ShortID] = ()
    """Use only the keys of these addresses (`from`); default: all of the user's."""
    change_address: ShortID | None = None


class IssueResult(NamedTuple):
    """The result of a request."""

    tx_id: ID
    change_address: ShortID


def add_validator(
    chain: PlatformChain,
    payer: Payer,
    *,
    stake: int,
    start: int,
    end: int,
    reward_address: ShortID,
    delegation_fee_rate: float,
    now: int,
    node_id: NodeID | None = None,
) -> IssueResult:
    """Add a validator to the Primary Network.

    Args:
        chain: The chain that it is for.
        payer: The user that stakes.
        stake: In the smallest unit.
        start: Unix seconds; 0 to start immediately.
        end: Unix seconds.
        reward_address: The address that receives the reward.
        delegation_fee_rate: Percent of the delegators' rewards.
        now: Unix seconds.
        node_id: Default: this node.

    Raises:
        WalletError: The terms are invalid, which is checked before the password.
    """
    requirements.verify_start(start, now=now, config=chain.config)
    shares = requirements.shares_of(delegation_fee_rate)
    validator = StakingPeriod(node_id or chain.node_id, start, end, stake)
    return issue(
        chain,
        payer,
        now,
        lambda wallet: transactions.build_add_validator(
            wallet, validator, reward_address=reward_address, shares=shares
        ),
    )


def add_delegator(
    chain: PlatformChain,
    payer: Payer,
    *,
    stake: int,
    start: int,
    end: int,
    reward_address: ShortID,
    now: int,
    node_id: NodeID | None = None,
) -> IssueResult:
    """Delegate stake to a validator of the Primary Network. Arguments as for `add_validator`.

    Raises:
        WalletError: The terms are invalid, which is checked before the password.
    """
    requirements.verify_start(start, now=now, config=chain.config)
    validator = StakingPeriod(node_id or chain.node_id, start, end, stake)
    return issue(
        chain,
        payer,
        now,
        lambda wallet: transactions.build_add_delegator(
            wallet, validator, reward_address=reward_address
        ),
    )


def add_subnet_validator(
    chain: PlatformChain,
    payer: Payer,
    *,
    subnet_id: ID,
    weight: int,
    start: int,
    end: int,
    now: int,
    node_id: NodeID | None = None,
) -> IssueResult:
    """Add a validator of the Primary Network to a subnet. Times as for `add_validator`.

    Raises:
        WalletError: The terms are invalid, which is checked before the password.
    """
    requirements.verify_start(start, now=now, config=chain.config)
    if subnet_id == PRIMARY_NETWORK_ID:
        raise WalletError(WalletReason.SUBNET_VALIDATOR_OF_PRIMARY_NETWORK)
    validator = SubnetValidator(node_id or chain.node_id, start, end, weight, subnet_id)
    return issue(
        chain,
        payer,
        now,
        lambda wallet: transactions.build_add_subnet_validator(
            wallet, validator, state=chain.state()
        ),
    )


def create_subnet(
    chain: PlatformChain, payer: Payer, *, control_keys: Iterable[ShortID], threshold: int, now: int
) -> IssueResult:
    """Create a subnet; the transaction's ID is the subnet's ID."""
    return issue(
        chain,
        payer,
        now,
        lambda wallet: transactions.build_create_subnet(
            wallet, control_keys=control_keys, threshold=threshold
        ),
    )


def create_blockchain(
    chain: PlatformChain,
    payer: Payer,
    *,
    subnet_id: ID,
    name: str,
    vm_id: ID,
    fx_ids: Iterable[ID],
    genesis_data: bytes,
    now: int,
) -> IssueResult:
    """Create a blockchain that a subnet validates; the transaction's ID is the blockchain's ID.

    Raises:
        WalletError: The terms are invalid, which is checked before the password.
    """
    if subnet_id == PRIMARY_NETWORK_ID:
        raise WalletError(WalletReason.CHAIN_OF_PRIMARY_NETWORK)
    return issue(
        chain,
        payer,
        now,
        lambda wallet: transactions.build_create_chain(
            wallet,
            subnet_id=subnet_id,
            name=name,
            vm_id=vm_id,
            fx_ids=fx_ids,
            genesis_data=genesis_data,
            state=chain.state(),
        ),
    )


def export_avax(
    chain: PlatformChain, payer: Payer, *, amount: int, to: ShortID, destination_chain: ID, now: int
) -> IssueResult:
    """Export an amount of the staking asset so that another chain of the Primary Network can import it.

    No chain of this node imports yet, so `mempool.issue` rejects every export.

    Raises:
        WalletError: The terms are invalid, which is checked before the password.
        RefusedIssue: Until transfers between chains exist.
    """
    if amount == 0:
        raise WalletError(WalletReason.ZERO_AMOUNT)
    return issue(
        chain,
        payer,
        now,
        lambda wallet: moving.build_export(
            wallet, amount=amount, to=to, destination_chain=destination_chain
        ),
    )


def import_avax(
    chain: PlatformChain, payer: Payer, *, source_chain: ID, to: ShortID, now: int
) -> IssueResult:
    """Import everything that another chain has exported to the payer's keys; `to` receives it, less the fee."""
    return issue(
        chain,
        payer,
        now,
        lambda wallet: moving.build_import(
            wallet,
            coins.shared_coins_of(chain, wallet.keychain.addresses, source_chain),
            source_chain=source_chain,
            to=to,
        ),
    )


def issue(chain: PlatformChain, payer: Payer, now: int, build: Build) -> IssueResult:
    """Build a transaction with a payer's keys and coins, sign it and issue it; for operations on this chain."""
    wallet = _wallet(chain, payer, now)
    return IssueResult(build_and_issue(chain, wallet, build, now=now), wallet.change_address)


def _wallet(chain: PlatformChain, payer: Payer, now: int) -> PlatformWallet:
    """Return the wallet of a payer, with all coins that its keys may spend."""
    keys = keystore.keys_of(chain, payer.username, payer.password, among=set(payer.addresses))
    if not keys:
        raise KeystoreError(KeystoreReason.NO_KEYS)
    keychain = Keychain.of(keys)
    return PlatformWallet(
        config=chain.config,
        asset_id=chain.network().asset_id,
        keychain=keychain,
        utxos=coins.coins_of(chain, keychain.addresses),
        change_address=payer.change_address or keychain.addresses[0],
        now=now,
    )
