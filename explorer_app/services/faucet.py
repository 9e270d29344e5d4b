"""Coins for whoever asks, on either chain, from a key that the node has for that: so many at once, and not too often.

FaucetError
├── NoAddress       a text that is no address of either chain
├── TooOften        the address, or the client, has had some a moment ago
└── NotGiven        the chain did not take the transaction, and why
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from adminkit.identifier_terms import read_term
from adminkit.terms import parse_term
from cchain_app.chain import EvmChain
from cchain_app.pool.errors import AlreadyKnown, NonceTooLow, ReplacementUnderpriced
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.state import state_at
from cchain_app.services import transactions
from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from cchain_app.txs.transaction import LEGACY
from chaindb import clock
from explorer_app.site import Given
from platform_app.chain import PlatformChain
from platform_app.selectors import coins
from platform_app.services.errors import RefusedIssue
from platform_app.services.wallet_retry import build_and_issue
from platform_app.txs.errors import InvalidTx
from platform_app.wallet import moving
from platform_app.wallet.keychain import Keychain
from platform_app.wallet.keystore_errors import TxNotCreated
from platform_app.wallet.wallet import Wallet
from primitives import secp256k1
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH
from primitives.ids import ShortID

WEI: Final = 10**18
TIP: Final = 10**9
"""Wei for each gas."""
GAS: Final = 21_000
GAS_OF_CONTRACTS: Final = 100_000
PAUSE: Final = 60.0
"""Seconds after which an address may have some again."""
OF_CLIENT: Final = 10
"""Times an hour that a client may ask with success."""
_HOUR: Final = 3600.0
_ATTEMPTS: Final = 5
"""Further nonces that are tried where other processes send for the same account."""
_TAKEN: Final = (AlreadyKnown, NonceTooLow, ReplacementUnderpriced)
_MOST_REMEMBERED: Final = 10_000
_MOST_COINS: Final = 1024
"""Outputs that are read to pay with: the largest."""


class FaucetError(Exception):
    """Nothing is given; the text says why."""


class NoAddress(FaucetError):
    """A text that is no address of either chain."""

    def __init__(self) -> None:
        super().__init__("this is no address of the C-Chain or the P-Chain")


class TooOften(FaucetError):
    """The address, or the client, has had some a moment ago."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"there was some a moment ago: ask again in {seconds:.0f} s")
        self.seconds = seconds


class NotGiven(FaucetError):
    """The chain did not take the transaction."""


class Turns:
    """Who has had some lately, in this process: addresses and clients.

    Unspecified: each process counts for itself.
    """

    def __init__(self) -> None:
        self._given: dict[bytes, float] = {}
        self._clients: dict[str, deque[float]] = {}

    def take(self, address: bytes, client: str, now: float) -> None:
        """Note that an address gets some now.

        Args:
            address: Twenty bytes, and which chain.
            client: Who asks.
            now: Seconds of a clock that does not go back.

        Raises:
            TooOften: It is too early.
        """
        self._forget(now)
        times = self._clients.setdefault(client, deque())
        last = self._given.get(address)
        if last is not None:
            raise TooOften(max(1.0, last + PAUSE - now))
        if len(times) >= OF_CLIENT:
            raise TooOften(max(1.0, times[0] + _HOUR - now))
        if len(self._given) >= _MOST_REMEMBERED:
            raise TooOften(PAUSE)
        times.append(now)
        self._given[address] = now

    def give_back(self, address: bytes, client: str) -> None:
        """Note that it came to nothing."""
        self._given.pop(address, None)
        if times := self._clients.get(client):
            times.pop()

    def _forget(self, now: float) -> None:
        over = [one for one, at in self._given.items() if at + PAUSE <= now]
        for address in over:
            del self._given[address]
        for client, times in list(self._clients.items()):
            while times and times[0] + _HOUR <= now:
                times.popleft()
            if not times:
                del self._clients[client]


class Faucet:
    """Gives coins.

    Args:
        evm: The C-Chain; None where the node takes no part in it.
        platform: The P-Chain.
        key: Pays, 32 bytes.
        coins: So many at once.
    """

    def __init__(
        self, evm: EvmChain | None, platform: PlatformChain, key: bytes, coins: int
    ) -> None:
        self.coins = coins
        self._evm = evm
        self._platform = platform
        self._key = key
        self._turns = Turns()
        self._one_at_a_time = threading.Lock()

    def give(self, text: str, client: str) -> Given:
        """Give coins to an address of either chain.

        Raises:
            FaucetError: Nothing is given, and why.
        """
        found = parse_term(text).address
        if found is not None and self._evm is not None:
            to = Address(found)
            return self._in_turn(b"C" + to, client, text, lambda: self._on_cchain(to))
        short_id = read_term(text).address
        if short_id is None or found is not None:
            raise NoAddress
        return self._in_turn(b"P" + short_id, client, text, lambda: self._on_platform(short_id))

    def _in_turn(self, key: bytes, client: str, text: str, pay: Callable[[], str]) -> Given:
        with self._one_at_a_time:
            self._turns.take(key, client, time.monotonic())
            try:
                return Given(key[:1].decode(), text, pay(), self.coins)
            except BaseException:
                self._turns.give_back(key, client)
                raise

    def _on_cchain(self, to: Address) -> str:
        chain = self._evm
        assert chain is not None
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
        (outcome,) = transactions.submit(chain, [sign_transaction(sent, self._key)])
        for _ in range(_ATTEMPTS):
            if not isinstance(outcome, _TAKEN):
                break
            own = secp256k1.address_of_private_key(self._key)
            sent = replace(sent, nonce=pool.next_nonce(chain, own))
            (outcome,) = transactions.submit(chain, [sign_transaction(sent, self._key)])
        if isinstance(outcome, Exception):
            raise NotGiven(str(outcome)) from outcome
        return "0x" + outcome.hex()

    def _on_platform(self, to: ShortID) -> str:
        chain, now = self._platform, clock.now()
        network = chain.network()
        keychain = Keychain.of([self._key])
        (own,) = keychain.addresses
        wallet = Wallet(
            config=chain.config,
            asset_id=network.asset_id,
            keychain=keychain,
            utxos=coins.largest_free_coins(
                chain, own, asset_id=network.asset_id, now=now, most=_MOST_COINS
            ),
            change_address=own,
            now=now,
        )
        amount = self.coins * network.unit
        try:
            tx_id = build_and_issue(
                chain, wallet, lambda one: moving.build_transfer(one, amount=amount, to=to), now=now
            )
        except (TxNotCreated, RefusedIssue, InvalidTx) as error:
            raise NotGiven(str(error)) from error
        return str(tx_id)


def read_key(path: Path) -> bytes:
    """Return the key in a file: 64 hex digits.

    Raises:
        OSError: It cannot be read.
        ValueError: It holds no key; the message has none of it.
    """
    try:
        key = bytes.fromhex(path.read_text().strip().removeprefix("0x"))
        secp256k1.verify_private_key(key)
    except (ValueError, secp256k1.InvalidPrivateKey):
        raise ValueError(f"{path} holds no private key in hex") from None
    return key
