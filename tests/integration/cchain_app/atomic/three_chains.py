"""The three chains of one node, between which random transfers move, with the sum of all coins."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any, Protocol

from cchain_app import models as evm_models
from cchain_app.apps import evm_runtime
from cchain_app.atomic.builder import AtomicTxNotBuilt, Payment, build_export, build_import
from cchain_app.atomic.fees import burned
from cchain_app.pool.errors import PoolRejection
from cchain_app.selectors import atomic as atomic_txs
from cchain_app.selectors.atomic import AtomicStatus
from cchain_app.services import atomic
from cchain_app.services.atomic import AtomicTxRefused
from chainvm.port import BlockContext
from health_app.supply import CountedChains, count_coins
from nodeproject.apps import this_node
from platform_app.apps import platform_chain, platform_runtime
from platform_app.config import UNIT
from platform_app.selectors import accepted, outputs
from platform_app.services import mempool
from platform_app.services.errors import RefusedIssue
from platform_app.txs.base import inner_output
from platform_app.txs.subnets import ImportTx
from primitives.ids import ID, P_CHAIN_ID
from primitives.keys import DEV_KEYS, EWOQ_KEY
from shared_app.models import EarlyImport, SharedOutput
from tests.builders import platform
from tests.builders.transactions import signed
from tests.integration.cchain_app.atomic.conftest import EWOQ_ADDRESS, GWEI, TO, Both
from tests.integration.cchain_app.atomic.killing import KilledError, killed_at
from tests.integration.conftest import forget_memory
from tests.integration.platform_app.conftest import BURN
from tests.integration.platform_app.made import export as platform_export
from tests.integration.platform_app.made import split
from utxo.coins import Keychain
from utxo.components import UTXO
from utxo.errors import InvalidTx
from xchain_app.apps import avm_runtime
from xchain_app.models import XOutput
from xchain_app.services import mempool as x_mempool
from xchain_app.services.errors import RefusedAvmTx
from xchain_app.services.wallet import own_wallet, shared_wallet
from xchain_app.wallet.errors import AvmWalletError
from xchain_app.wallet.transactions import AssetPayment

WEI = 10**12
"""Wei of one unit on this network."""
SENDERS = {
    address: bytes.fromhex(key.removeprefix("0x")) for address, key in list(DEV_KEYS.items())[:3]
}
"""The accounts of the C-Chain that export, with their keys."""
REFUSALS = (
    InvalidTx,
    RefusedIssue,
    RefusedAvmTx,
    AtomicTxRefused,
    AvmWalletError,
    AtomicTxNotBuilt,
    PoolRejection,
)
"""What a chain answers to a transaction that spends what a pending one spends, or coins that are not there."""
NAMES = ("P", "X", "C")
COINS = 12
"""Coins with which P and X begin besides the large one, so that several transactions may be pending."""


class Built(Protocol):
    """A block of any of the chains."""

    @property
    def block_id(self) -> ID:
        """Its ID."""


class ThreeChains:
    """P, X and C of one node. Whatever happens to them, no coin is created and none is lost.

    Args:
        both: The P-Chain and the C-Chain; the node's X-Chain is the third.
        random: Chooses what happens.
    """

    def __init__(self, both: Both, random: Random) -> None:
        self.both = both
        self.p = both.p
        self.random = random
        c_chain, x_chain = self.p.network.c_chain_id, this_node().avm_chain.blockchain_id
        self.ids = {"P": P_CHAIN_ID, "X": x_chain, "C": c_chain}
        self.kills = self.rejections = 0
        self._turns: list[str] = []
        """The chains that grow next: each comes as often as the others."""
        self._burned: dict[str, dict[ID, int]] = {name: {} for name in NAMES}
        """What each issued transaction burns, by the chain on which it was issued."""
        split(self.p, COINS, 50 * UNIT)
        self.p.forget_spent()
        self._split_on_x()
        self._all = self._units()

    def moved(self) -> dict[str, int]:
        """Return the number of accepted transfers of each chain."""
        return {name: len(self._accepted(name)) for name in NAMES}

    def assert_conserved(self) -> None:
        """Check that every coin is on one chain, between two, or burned by a transaction that was accepted."""
        assert self._units() == self._all
        assert not EarlyImport.objects.exists()
        counted = count_coins(
            CountedChains(platform_runtime().chain, evm_runtime().chain, avm_runtime().chain)
        )
        assert not isinstance(counted, str)
        assert counted.difference == 0, counted

    def restart(self) -> None:
        """End the process and start it again: it knows only the rows."""
        forget_memory()

    def step(self) -> None:
        """Issue some transfers on a chain and let it grow, both of which may be killed; then all coins are there."""
        self._turns = self._turns or self.random.sample(NAMES * 2, 6)
        name = self._turns.pop()
        for _ in range(self.random.randint(1, 3)):
            self._maybe_killed(partial(self.issue, name), one_in=8)
        self._maybe_killed(partial(self.grow, name), one_in=3)
        if self.random.random() < 0.3:
            self.restart()
        self.assert_conserved()

    def finish(self) -> None:
        """Accept all that is pending, and import all that waits."""
        self.produce_all()
        for _ in range(20):
            if not SharedOutput.objects.exists():
                return
            for name in NAMES:
                for source in NAMES:
                    self._issued(partial(self._import, name, source))
            self.produce_all()

    def issue(self, name: str) -> None:
        """Issue an export or an import on a chain, unless it is refused."""
        if name == "C" and self.random.random() < 0.3:
            self._issued(self._pay)
            return
        other = self.random.choice([one for one in NAMES if one != name])
        make = self.random.choice([self.export, self._import])
        self._issued(partial(make, name, other))

    def grow(self, name: str) -> None:
        """Build undecided blocks on each other or beside each other, and accept one line of them."""
        vm = self.runtime(name).vm
        last = vm.last_accepted()
        vm.set_preference(last)
        line: list[Built] = []
        for _ in range(self.random.randint(1, 3)):
            block = vm.build(BlockContext(self.later()))
            if block is None:
                break
            line.append(block)
            vm.set_preference(block.block_id)
            self.issue(name)
        if line and self.random.random() < 0.3:  # a rival of the line, which may win
            vm.set_preference(last)
            rival = vm.build(BlockContext(self.later()))
            if rival is not None and self.random.random() < 0.5:
                line = [rival]
            self.rejections += rival is not None
        count = self.random.randint(1, len(line)) if line and self.random.random() < 0.8 else 0
        if count:
            vm.accept([block.block_id for block in line[:count]], written=lambda _: None)
        elif line:
            vm.set_preference(last)
            vm.reject(line[0].block_id)
            self.rejections += 1

    def produce_all(self) -> None:
        """Accept all that is pending."""
        for name in NAMES:
            while self.runtime(name).consensus.produce(now=self.later()) is not None:
                pass

    def _split_on_x(self) -> None:
        payments = [AssetPayment(self.p.asset_id, 50 * UNIT, EWOQ_ADDRESS)] * COINS
        chain = avm_runtime().chain
        x_mempool.issue_tx(
            chain, own_wallet(chain, [EWOQ_KEY], now=self.p.now).send(payments), now=self.p.now
        )
        assert avm_runtime().consensus.produce(now=self.later()) is not None

    def _maybe_killed(self, work: Callable[[], None], *, one_in: int) -> None:
        if self.random.randrange(one_in):
            work()
            return
        try:
            with killed_at(self.random.randrange(60)):
                work()
        except KilledError:
            self.kills += 1
            self.restart()
            self.assert_conserved()

    def _issued(self, work: Callable[[], None]) -> None:
        with suppress(*REFUSALS):
            work()

    def _pay(self) -> None:
        """Send an EVM transaction of an account that also exports, perhaps with a nonce that is to come."""
        account, key = self.random.choice(list(SENDERS.items()))
        state = self.both.account(account)
        assert state is not None
        nonce = state.nonce + self.random.randrange(3)
        self.both.c.send(signed(key=key, nonce=nonce, value=self.random.randrange(UNIT * WEI)))

    def export(self, name: str, destination: str) -> None:
        """Issue an export of a random amount. Raises one of `REFUSALS`."""
        amount, chain_id = self.random.randint(BURN, 9 * UNIT), self.ids[destination]
        if name == "P":
            if len(self.p.coins()) < COINS // 2:  # some were in transactions that were lost
                self.p.forget_spent()
            self._on_p(platform_export(self.p, chain_id, amount))
        elif name == "X":
            wallet = own_wallet(avm_runtime().chain, [EWOQ_KEY], now=self.p.now)
            coins = wallet.wallet.utxos
            shuffled = replace(wallet.wallet, utxos=self.random.sample(coins, len(coins)))
            payment = AssetPayment(self.p.asset_id, amount, EWOQ_ADDRESS)
            self._on_x(replace(wallet, wallet=shuffled).export(payment, chain_id))
        else:
            account, key = self.random.choice(list(SENDERS.items()))
            state = self.both.account(account)
            assert state is not None
            self._on_c(
                build_export(
                    [key],
                    {account: state},
                    Payment(amount, EWOQ_ADDRESS, chain_id),
                    base_fee=self._price(),
                    parameters=self.both.parameters,
                )
            )

    def _import(self, name: str, source: str) -> None:
        waiting = self.both.waiting(self.ids[name], self.ids[source]) if name != source else []
        if waiting:
            self.submit(name, self.make_import(name, source, waiting))

    def make_import(self, name: str, source: str, waiting: list[UTXO]) -> Any:
        """Return an import of some of the outputs that wait between two chains; X imports all of them."""
        some = self.random.sample(waiting, self.random.randint(1, len(waiting)))
        if name == "P":
            return self._import_to_p(some, source)
        if name == "X":
            chain = avm_runtime().chain
            wallet = own_wallet(chain, [EWOQ_KEY], now=self.p.now)
            shared = shared_wallet(chain, [EWOQ_KEY], self.ids[source], now=self.p.now)
            return wallet.import_all(shared, self.ids[source], EWOQ_ADDRESS)
        return build_import(
            Keychain.of([EWOQ_KEY]),
            some,
            source_chain=self.ids[source],
            to=TO,
            base_fee=self._price(),
            now=self.p.now,
            parameters=self.both.parameters,
        )

    def submit(self, name: str, tx: Any) -> None:
        """Issue a transaction on a chain. Raises one of `REFUSALS`."""
        {"P": self._on_p, "X": self._on_x, "C": self._on_c}[name](tx)

    def _import_to_p(self, waiting: list[UTXO], source: str) -> Any:
        amount = sum(inner_output(utxo.output).amount for utxo in waiting)
        inputs = sorted(
            (spent for utxo in waiting for spent in platform.spend_all(utxo)),
            key=lambda spent: (spent.tx_id, spent.output_index),
        )
        unsigned = platform.unsigned(
            ImportTx,
            outputs=(self.p.output(amount - BURN, EWOQ_ADDRESS),) if amount > BURN else (),
            inputs=(),
            source_chain=self.ids[source],
            imported_inputs=tuple(inputs),
        )
        return platform.signed(unsigned, [[EWOQ_KEY]] * len(inputs))

    def _on_p(self, tx: Any) -> None:
        self._burned["P"][tx.tx_id] = BURN
        mempool.issue_tx(platform_chain(), tx, now=self.p.now)

    def _on_x(self, tx: Any) -> None:
        chain = avm_runtime().chain
        self._burned["X"][tx.tx_id] = chain.config.tx_fee
        x_mempool.issue_tx(chain, tx, now=self.p.now)

    def _on_c(self, tx: Any) -> None:
        self._burned["C"][tx.tx_id] = burned(tx, self.p.asset_id)
        atomic.issue(self.both.c.evm, tx)

    def _price(self) -> int:
        return self.random.randint(50, 500) * GWEI

    def later(self) -> int:
        """Let a second pass and return the time."""
        self.p.now += 1
        return self.p.now

    def runtime(self, name: str) -> Any:
        """Return a chain."""
        return {"P": platform_runtime, "X": avm_runtime, "C": evm_runtime}[name]()

    def _accepted(self, name: str) -> list[ID]:
        if name == "P":
            return [
                tx_id
                for tx_id in self._burned["P"]
                if accepted.tx(platform_chain(), tx_id) is not None
            ]
        if name == "X":
            state = avm_runtime().chain.state()
            return [tx_id for tx_id in self._burned["X"] if state.tx(tx_id) is not None]
        evm = self.both.c.evm
        return [
            tx_id
            for tx_id in self._burned["C"]
            if atomic_txs.status_of(atomic_txs.find(evm, tx_id)) is AtomicStatus.ACCEPTED
        ]

    def _units(self) -> int:
        """Return the units on all chains and in between, with those that accepted transactions have burned."""
        own = outputs.balance(platform_chain(), [EWOQ_ADDRESS], now=self.p.now).funds
        on_p = own[self.p.asset_id].total
        on_x = sum(
            one.amount or 0
            for one in XOutput.objects.filter(spent_by=None, asset_id=self.p.asset_id)
        )
        wei = sum(account.balance for account in evm_models.Account.objects.all())
        wei += sum(
            (block.base_fee or 0) * block.gas_used for block in evm_models.Block.objects.all()
        )
        assert wei % WEI == 0
        between = sum(one.amount for one in SharedOutput.objects.all())
        spent = sum(self._burned[name][tx_id] for name in NAMES for tx_id in self._accepted(name))
        return on_p + on_x + wei // WEI + between + spent
