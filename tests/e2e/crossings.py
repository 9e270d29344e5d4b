"""Coins that move among the three chains of a network without end, each transaction sent until it is accepted.

A purse knows its coins by its own transactions, so a node that is behind misleads no one.
"""

import time
from collections.abc import Callable, Sequence
from itertools import cycle, pairwise
from random import Random
from typing import Any, NamedTuple, Protocol

from typing_extensions import override

from cchain_app.atomic.builder import Payment, build_export, build_import
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import UnsignedExportTx
from cchain_app.evm.engine import AccountState
from platform_app.txs.subnets import ExportTx, ImportTx
from primitives import checksummed
from primitives.hashing import EMPTY_HASH
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from primitives.keys import address_of
from primitives.secp256k1 import address_of_private_key
from tests.builders import platform
from tests.e2e.load import PATIENCE, Client
from tests.e2e.network import NetworkNode
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import FEE, HRP, Wallet, worth
from tests.servers.client import RpcFault
from utxo.coins import Keychain
from utxo.coins import Wallet as Coins
from utxo.components import UTXO
from xchain_app.config import AvmConfig, AvmEnv
from xchain_app.wallet.transactions import AssetPayment, AvmWallet

ROUTE = "PXCPCX"
"""The chains that a purse visits: each of the six directions once."""
WEI = 10**12
"""Wei of one unit."""
PRICE = WEI
"""Wei for each gas that imports and exports pay on the C-Chain: far more than any base fee of a test."""
KEPT = 20_000
"""Units that each visit leaves on the C-Chain: more than an export costs."""
X_FEE = 1_000
ACCEPTED = {"P": "Committed", "X": "Accepted", "C": "Accepted"}
_METHODS = {
    "P": ("platform.issueTx", "platform.getTxStatus"),
    "X": ("avm.issueTx", "avm.getTxStatus"),
    "C": ("avax.issueTx", "avax.getAtomicTxStatus"),
}


class AnyTx(Protocol):
    """A signed transaction of any of the chains."""

    @property
    def tx_id(self) -> ID:
        """Its ID."""

    @property
    def raw(self) -> bytes:
        """Its bytes."""


class MovesContext(NamedTuple):
    """The values of the network that transactions name."""

    ids: dict[str, ID]
    asset_id: ID

    @classmethod
    def of(cls, node: NetworkNode) -> "MovesContext":
        """Ask a node."""
        with PlatformClient(node.port) as client:
            ids = {
                alias: ID.parse(client.call("info.getBlockchainID", alias=alias)["blockchainID"])
                for alias in "XC"
            }
            asset = client.call("avm.getAssetDescription", assetID="AVAX")["assetID"]
        return cls({"P": P_CHAIN_ID} | ids, ID.parse(asset))

    @property
    def atomic(self) -> AtomicParameters:
        """The values for the C-Chain."""
        peers = frozenset({self.ids["P"], self.ids["X"]})
        return AtomicParameters(
            platform.CONFIG.network_id, self.ids["C"], peers, self.asset_id, WEI
        )

    @property
    def avm(self) -> AvmEnv:
        """The values for the X-Chain."""
        config = AvmConfig(platform.CONFIG.network_id, HRP, X_FEE, 10 * X_FEE)
        return AvmEnv(
            config, self.ids["X"], self.asset_id, lambda _: PRIMARY_NETWORK_ID, PRIMARY_NETWORK_ID
        )


class Purse:
    """A key whose coins go from chain to chain.

    Args:
        world: The network.
        key: The key.
        coin: Its only output on the P-Chain.
    """

    def __init__(self, world: MovesContext, key: bytes, coin: UTXO) -> None:
        self._world = world
        self._key = key
        self._owner = address_of(key)
        self._account = address_of_private_key(key)
        self._coin = coin
        """The output that the next transaction spends, except for exports of the C-Chain."""
        self._units = 0
        """Units on the C-Chain."""
        self._nonce = 0
        self._legs = pairwise(cycle(ROUTE))
        self._here, self._next = next(self._legs)
        self._is_between = False
        self.waiting: AnyTx | None = None
        """The transaction that is not accepted yet."""
        self.again_at = 0.0
        """Time of the monotonic clock at which it is sent again."""
        self.tx_ids: list[str] = []
        """All transactions made so far."""

    @property
    def chain(self) -> str:
        """The chain of the next or waiting transaction."""
        return self._next if self._is_between else self._here

    def make(self) -> None:
        """Make the next transaction."""
        make: Callable[[], AnyTx] = (
            {"P": self._import_to_p, "X": self._import_to_x, "C": self._import_to_c}
            if self._is_between
            else {"P": self._export_from_p, "X": self._export_from_x, "C": self._export_from_c}
        )[self.chain]
        self.waiting = make()
        self.tx_ids.append(str(self.waiting.tx_id))
        self.again_at = 0.0

    def accepted(self) -> None:
        """The transaction was accepted: the coins are where it moved them."""
        self.waiting = None
        if self._is_between:
            self._here, self._next = next(self._legs)
        self._is_between = not self._is_between

    def _spent(self, tx: AnyTx, outputs: Sequence[Any]) -> AnyTx:
        (output,) = outputs
        self._coin = UTXO(tx.tx_id, 0, output.asset_id, output.output)
        return tx

    def _on_p(self, kind: Any, amount: int, **fields: Any) -> AnyTx:
        made = (platform.output(amount, self._owner, asset_id=self._world.asset_id),)
        name = "exported_outputs" if kind is ExportTx else "outputs"
        spent = platform.spend_all(self._coin)
        field = "inputs" if kind is ExportTx else "imported_inputs"
        unspent = {"inputs": (), "outputs": (), name: made, field: spent}
        tx = platform.signed(kind, [[self._key]], **unspent, **fields)
        return self._spent(tx, made)

    def _export_from_p(self) -> AnyTx:
        destination = self._world.ids[self._next]
        return self._on_p(ExportTx, worth(self._coin) - FEE, destination_chain=destination)

    def _import_to_p(self) -> AnyTx:
        source = self._world.ids[self._here]
        return self._on_p(ImportTx, worth(self._coin) - FEE, source_chain=source)

    def _coins(self, *utxos: UTXO) -> Coins:
        return Coins(
            keychain=Keychain.of([self._key]), utxos=utxos, change_address=self._owner, now=0
        )

    def _export_from_x(self) -> AnyTx:
        amount = worth(self._coin) - X_FEE
        exported = AssetPayment(self._world.asset_id, amount, self._owner)
        wallet = AvmWallet(self._world.avm, self._coins(self._coin))
        tx = wallet.export(exported, self._world.ids[self._next])
        unsigned: Any = tx.unsigned
        return self._spent(tx, unsigned.exported_outputs)

    def _import_to_x(self) -> AnyTx:
        wallet = AvmWallet(self._world.avm, self._coins())
        source = self._world.ids[self._here]
        tx = wallet.import_all(self._coins(self._coin), source, self._owner)
        return self._spent(tx, tx.unsigned.outputs)

    def _export_from_c(self) -> AnyTx:
        state = AccountState(self._nonce, self._units * WEI, EMPTY_HASH)
        tx = build_export(
            [self._key],
            {self._account: state},
            Payment(self._units - KEPT, self._owner, self._world.ids[self._next]),
            base_fee=PRICE,
            parameters=self._world.atomic,
        )
        assert isinstance(tx.unsigned, UnsignedExportTx)
        (taken,) = tx.unsigned.inputs
        self._units -= taken.amount
        self._nonce += 1
        return self._spent(tx, tx.unsigned.exported_outputs)

    def _import_to_c(self) -> AnyTx:
        tx = build_import(
            Keychain.of([self._key]),
            [self._coin],
            source_chain=self._world.ids[self._here],
            to=self._account,
            base_fee=PRICE,
            now=0,
            parameters=self._world.atomic,
        )
        unsigned: Any = tx.unsigned
        (given,) = unsigned.outputs
        self._units += given.amount
        return tx


class Crossings(Client):
    """Transfers of purses, each sent to a random node and resent to others until it is in a block."""

    def __init__(
        self, nodes: Sequence[NetworkNode], random: Random, wallets: Sequence[Wallet]
    ) -> None:
        super().__init__(nodes, random)
        world = MovesContext.of(nodes[0])
        self._purses = [Purse(world, wallet.key, *wallet.coins) for wallet in wallets]
        self.ending = False
        """Whether to create no further transfers."""

    @property
    def tx_ids(self) -> list[str]:
        """The IDs of all transactions created so far."""
        return [tx_id for purse in self._purses for tx_id in purse.tx_ids]

    @property
    def accepted(self) -> int:
        """Number of transactions in blocks."""
        return len(self.tx_ids) - sum(purse.waiting is not None for purse in self._purses)

    @property
    def are_done(self) -> bool:
        """Whether all created transactions are in blocks."""
        return all(purse.waiting is None for purse in self._purses)

    @override
    def step(self, node: NetworkNode) -> None:
        purse = self._random.choice(self._purses)
        if purse.waiting is None:
            if self.ending:
                return
            purse.make()
        assert purse.waiting is not None
        issue, status = _METHODS[purse.chain]
        with PlatformClient(node.port, timeout=PATIENCE) as client:
            try:
                found = client.call(status, txID=str(purse.waiting.tx_id))
                if found["status"] == ACCEPTED[purse.chain]:
                    purse.accepted()
                elif time.monotonic() > purse.again_at:
                    purse.again_at = time.monotonic() + PATIENCE
                    client.call(issue, tx=checksummed.encode(purse.waiting.raw))
            except RpcFault:
                # The node may not have accepted the export before it, or may have the transaction.
                purse.again_at = 0.0
