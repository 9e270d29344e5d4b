"""The faucet: sends coins to anyone, from a key of the node, with limits per payment and per time.

It pays on the chains of the Primary Network, and on each other EVM chain whose genesis gives coins to the key.
"""

import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from math import ceil
from pathlib import Path
from typing import Final

from adminkit.terms import parse_term, read_term
from cchain_app.chain import EvmChain
from cchain_app.pool.errors import is_nonce_taken
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.state import state_at
from cchain_app.services import transactions
from cchain_app.services.runtime import EvmRuntime
from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from cchain_app.txs.transaction import LEGACY
from chaindb import clock
from chaindb.chains import C_CHAIN
from chaindb.locks import Lock
from explorer_app.site import FaucetReceipt
from explorer_app.store import faucet as faucet_rows
from explorer_app.store.faucet import RecentPayments
from platform_app.chain import PlatformChain
from platform_app.selectors import coins
from platform_app.services.errors import RefusedIssue
from platform_app.services.wallet_retry import build_and_issue
from platform_app.wallet import moving
from platform_app.wallet.errors import TxNotCreated
from platform_app.wallet.wallet import PlatformWallet
from primitives import secp256k1
from primitives.counting import counted
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH
from primitives.ids import ShortID
from primitives.reasons import ErrorWithReason
from utxo.coins import Keychain
from utxo.errors import InvalidTx
from xchain_app.chain import AvmChain
from xchain_app.services.errors import RefusedAvmTx
from xchain_app.services.wallet_retry import build_and_issue as build_and_issue_on_xchain
from xchain_app.store.state import NoXChain
from xchain_app.wallet.errors import AvmWalletError
from xchain_app.wallet.transactions import AssetPayment

WEI: Final = 10**18
TIP: Final = 10**9
"""Wei per gas."""
GAS: Final = 21_000
GAS_OF_CONTRACTS: Final = 100_000
PAUSE: Final = timedelta(minutes=1)
"""Time until an address can get coins again."""
OF_CLIENT: Final = 10
"""Limit of payments per hour that a client may request."""
HOUR: Final = timedelta(hours=1)
"""Time for which a payment counts towards the limits."""
_ATTEMPTS: Final = 5
"""Number of further nonces that are tried if other processes send from the same account."""
_MAX_COINS: Final = 1024
"""Limit of outputs that are read for a payment: the largest ones."""
_X_ADDRESS: Final = "X-"
"""What addresses of the X-Chain begin with; without a chain, an address is the P-Chain's."""


class FaucetReason(StrEnum):
    """Why no coins are sent."""

    NO_ADDRESS = "this is not an address of the C-Chain, the P-Chain or the X-Chain"
    TOO_OFTEN = "{limit}: try again in {seconds} s"
    NOT_ON_CHAIN = "this is not an address of {chain}: 0x and 40 hexadecimal digits"
    NO_COINS = "the faucet's account has no coins in the genesis of {chain}"
    # The request comes from a web page of another site that the operator has not allowed.
    FOREIGN_PAGE = (
        "the faucet pays for pages of other sites only if NODE_ALLOWED_ORIGINS names their origin"
    )
    # The chain rejected the transaction.
    NOT_GIVEN = "{cause}"


class FaucetError(ErrorWithReason):
    """No coins are sent; the text says why."""


class TooOften(FaucetError):
    """A limit is reached: of the address, of the client, or of all payments in an hour."""

    def __init__(self, limit: str, wait: timedelta) -> None:
        self.seconds = max(1, ceil(wait.total_seconds()))
        """Seconds until the limit allows a payment again."""
        super().__init__(FaucetReason.TOO_OFTEN, limit=limit, seconds=self.seconds)


class Faucet:
    """Sends coins.

    Args:
        evm: The C-Chain; None if the node does not take part in it.
        runtime_of: Returns an EVM chain as a running chain.
        platform: The P-Chain.
        avm: The X-Chain; None if the node does not take part in it.
        key: The private key that pays, 32 bytes.
        coins: Coins per payment.
        hourly: Limit of coins of all payments in an hour; 0 for no limit.
        is_private: Whether the key is the operator's own.
    """

    def __init__(
        self,
        evm: EvmRuntime | None,
        platform: PlatformChain,
        avm: AvmChain | None,
        key: bytes,
        *,
        runtime_of: Callable[[EvmChain], EvmRuntime],
        coins: int,
        hourly: int = 0,
        is_private: bool = False,
    ) -> None:
        self.coins = coins
        self.is_private = is_private
        self._hourly = hourly
        self._evm = evm
        self._runtime_of = runtime_of
        self._platform = platform
        self._avm = avm
        self._key = key
        self._one_at_a_time = threading.Lock()

    def pays_on(self, chain: EvmChain) -> bool:
        """Return whether its key got coins in the genesis of an EVM chain."""
        own = chain.genesis.alloc.get(secp256k1.address_of_private_key(self._key))
        return own is not None and own.balance > 0

    def give(self, text: str, client: str, chain: EvmChain | None = None) -> FaucetReceipt:
        """Send coins to an address of a chain of the Primary Network, or of another EVM chain.

        Args:
            text: The address.
            client: The client that requests the coins.
            chain: The EVM chain whose pages the client uses; None: the C-Chain.

        Raises:
            FaucetError: No coins were sent; the text says why.
        """
        address = parse_term(text).address
        if chain is not None and chain.name != C_CHAIN:
            return self._give_on(chain, address, client, text)
        if address is not None and self._evm is not None:
            evm, to = self._evm, Address(address)
            return self._in_turn(b"C" + to, client, text, lambda: self._on_evm(evm, to))
        short_id = read_term(text).address
        if short_id is None or address is not None:
            raise FaucetError(FaucetReason.NO_ADDRESS)
        if self._avm is not None and text.strip().startswith(_X_ADDRESS):
            avm = self._avm
            return self._in_turn(
                b"X" + short_id, client, text, lambda: self._on_xchain(avm, short_id)
            )
        return self._in_turn(b"P" + short_id, client, text, lambda: self._on_platform(short_id))

    def _give_on(
        self, chain: EvmChain, address: bytes | None, client: str, text: str
    ) -> FaucetReceipt:
        """Send coins on an EVM chain besides the C-Chain. Raises as `give`."""
        if address is None:
            raise FaucetError(FaucetReason.NOT_ON_CHAIN, chain=chain.title)
        if not self.pays_on(chain):
            raise FaucetError(FaucetReason.NO_COINS, chain=chain.title)
        to, runtime = Address(address), self._runtime_of(chain)
        return self._in_turn(
            bytes(chain.blockchain_id) + to,
            client,
            text,
            lambda: self._on_evm(runtime, to),
            chain=chain.path_name,
        )

    def _in_turn(
        self, key: bytes, client: str, text: str, pay: Callable[[], str], *, chain: str = ""
    ) -> FaucetReceipt:
        with self._one_at_a_time:
            payment = self.count(key, client, datetime.now(UTC))
            try:
                return FaucetReceipt(chain or key[:1].decode(), text, pay(), self.coins)
            except BaseException:
                with self._platform.db.atomic(durable=True):
                    faucet_rows.remove(self._platform.db, payment)
                raise

    def count(self, recipient: bytes, client: str, now: datetime) -> int:
        """Record a payment before it is made, and return the key of its row.

        The limits apply to all processes and all chains together, and a restart does not reset them.

        Args:
            recipient: The letter or the blockchain ID of the chain, and the address of 20 bytes.
            client: The client that requests the payment.
            now: The time of the payment. Not the node's clock, which callers may move.

        Raises:
            TooOften: A limit is reached.
        """
        db = self._platform.db
        with db.atomic(durable=True):
            db.acquire(Lock.FAUCET)
            # Clocks of machines differ, and a wrong clock must not block the faucet for long.
            faucet_rows.forget_outside(db, now - HOUR, now + HOUR)
            self._verify(faucet_rows.recent(db, recipient, client), now)
            return faucet_rows.add(db, recipient, client, self.coins, now)

    def _verify(self, recent: RecentPayments, now: datetime) -> None:
        if recent.of_recipient is not None and recent.of_recipient + PAUSE > now:
            raise TooOften(
                "this address received coins less than a minute ago",
                recent.of_recipient + PAUSE - now,
            )
        if recent.first_of_client is not None and recent.of_client >= OF_CLIENT:
            raise TooOften(
                f"this client has made {counted(OF_CLIENT, 'request')} in an hour",
                recent.first_of_client + HOUR - now,
            )
        if self._hourly and recent.coins + self.coins > self._hourly:
            raise TooOften(
                f"the faucet gives {counted(self._hourly, 'coin')} an hour (NODE_FAUCET_HOURLY)",
                (recent.first or now) + HOUR - now,
            )

    def _on_evm(self, evm: EvmRuntime, to: Address) -> str:
        chain = evm.chain
        head = blocks.head(chain)
        account = state_at(chain, head.number).account(to)
        has_code = account is not None and account.code_hash != EMPTY_HASH
        sent = UnsignedTransaction(
            type=LEGACY,
            chain_id=chain.config.chain_id,
            nonce=pool.next_nonce(chain, secp256k1.address_of_private_key(self._key)),
            gas=GAS_OF_CONTRACTS if has_code else GAS,
            to=to,
            value=self.coins * WEI,
            max_fee_per_gas=2 * (blocks.base_fee_after(chain, head) or 0) + TIP,
        )
        (outcome,) = transactions.submit(evm, [sign_transaction(sent, self._key)])
        for _ in range(_ATTEMPTS):
            if not is_nonce_taken(outcome):
                break
            own = secp256k1.address_of_private_key(self._key)
            sent = replace(sent, nonce=pool.next_nonce(chain, own))
            (outcome,) = transactions.submit(evm, [sign_transaction(sent, self._key)])
        if isinstance(outcome, Exception):
            raise FaucetError(FaucetReason.NOT_GIVEN, cause=str(outcome)) from outcome
        return "0x" + outcome.hex()

    def _on_platform(self, to: ShortID) -> str:
        chain, now = self._platform, clock.now()
        network = chain.network()
        keychain = Keychain.of([self._key])
        (own,) = keychain.addresses
        wallet = PlatformWallet(
            config=chain.config,
            asset_id=network.asset_id,
            keychain=keychain,
            utxos=coins.largest_free_coins(
                chain, own, asset_id=network.asset_id, now=now, most=_MAX_COINS
            ),
            change_address=own,
            now=now,
        )
        amount = self.coins * network.unit
        try:
            tx_id = build_and_issue(
                chain,
                wallet,
                lambda state: moving.build_transfer(state, amount=amount, to=to),
                now=now,
            )
        except (TxNotCreated, RefusedIssue, InvalidTx) as error:
            raise FaucetError(FaucetReason.NOT_GIVEN, cause=str(error)) from error
        return str(tx_id)

    def _on_xchain(self, chain: AvmChain, to: ShortID) -> str:
        asset_id, amount = chain.stored().fee_asset_id, self.coins * self._platform.network().unit
        try:
            tx_id = build_and_issue_on_xchain(
                chain,
                [self._key],
                lambda own: own.send([AssetPayment(asset_id, amount, to)]),
                now=clock.now,
            )
        except (AvmWalletError, RefusedAvmTx, InvalidTx, NoXChain) as error:
            raise FaucetError(FaucetReason.NOT_GIVEN, cause=str(error)) from error
        return str(tx_id)


def read_key(path: Path) -> bytes:
    """Return the key in a file: 64 hex digits.

    Raises:
        OSError: The file cannot be read.
        ValueError: The file contains no key; the message does not quote its content.
    """
    try:
        key = bytes.fromhex(path.read_text().strip().removeprefix("0x"))
        secp256k1.verify_private_key(key)
    except (ValueError, secp256k1.InvalidPrivateKey):
        raise ValueError(f"{path} does not contain a private key in hex") from None
    return key
