"""An X-Chain on the rows of a test's database, with the genesis and the world of the vectors."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from chaindb.database import Database
from chainvm.shared_memory import AtomicRequests
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID
from primitives.networks import CCHAIN_ALIASES, PLATFORM_ALIASES, XCHAIN_ALIASES
from primitives.settings import CommonSettings
from shared_app.store import SharedRows
from tests.conformance.xchain_vectors import World, document, raw_bytes, world
from utxo.components import UTXO
from xchain_app import models
from xchain_app.chain import AvmChain, XChainOrigin
from xchain_app.services.genesis import load_genesis
from xchain_app.store import rows
from xchain_app.txs.base import AvmTx, CreateAssetTx
from xchain_app.txs.extensions import owners_of

GENESIS = document("genesis")["cases"][0]
C_CHAIN_ID = ID.parse(document("transactions")["world"]["cChainID"])
X_CHAIN_ID = ID.parse(GENESIS["chainID"])


@dataclass
class FakeNetwork:
    """A P-Chain as the X-Chain sees it."""

    genesis: bytes = raw_bytes(GENESIS["genesis"])
    more: Mapping[ID, ID] = field(default_factory=dict)
    """Further blockchains with their subnets."""

    def x_chain(self) -> XChainOrigin:
        """Return the origin of the vectors' X-Chain."""
        return XChainOrigin(X_CHAIN_ID, self.genesis)

    def subnet_of(self, chain_id: ID) -> ID | None:
        """Return the subnet of a blockchain."""
        if chain_id in {P_CHAIN_ID, C_CHAIN_ID, X_CHAIN_ID}:
            return PRIMARY_NETWORK_ID
        return self.more.get(chain_id)

    def chain_id_of(self, alias: str) -> ID | None:
        """Return the blockchain ID of a chain."""
        known = {
            P_CHAIN_ID: PLATFORM_ALIASES,
            C_CHAIN_ID: CCHAIN_ALIASES,
            X_CHAIN_ID: XCHAIN_ALIASES,
        }
        return next((key for key, aliases in known.items() if alias in {*aliases, str(key)}), None)


def x_chain(here: World | None = None) -> AvmChain:
    """Return a chain with the vectors' genesis; without an argument its parameters are those of the vectors."""
    config = (here or world()).env.config
    given = document("transactions")["world"]["chainOfAnotherSubnet"]
    network = FakeNetwork(more={ID.parse(given["chain"]): ID.parse(given["subnet"])})
    chain = AvmChain(CommonSettings(), Database(), lambda: config, network)
    load_genesis(chain)
    return chain


def world_chain() -> AvmChain:
    """Return a chain that holds the transactions, UTXOs and shared outputs of the vectors' world."""
    here = world()
    chain = x_chain(here)
    for place, tx in enumerate(here.state.txs.values(), 100):
        if chain.state().tx(tx.tx_id) is None:
            _write_tx(place, tx)
    known = {utxo_id for utxo_id in here.state.utxos if chain.state().utxo(utxo_id)}
    for utxo in here.state.utxos.values():
        if utxo.utxo_id not in known:
            write_utxo(utxo)
    with chain.db.atomic():
        for (source, _), utxo in here.state.shared_utxos.items():
            SharedRows(chain.db).apply(source, [AtomicRequests(X_CHAIN_ID, put=(utxo,))], 1)
    return chain


def write_utxo(utxo: UTXO, height: int = 0) -> None:
    """Write an unspent output."""
    kind, amount, group, payload, locktime, threshold = rows.columns_of(utxo.output)
    row = models.XOutput.objects.create(
        utxo_id=utxo.utxo_id, tx_id=utxo.tx_id, output_index=utxo.output_index,
        asset_id=utxo.asset_id, kind=kind, amount=amount, group_id=group, payload=payload,
        locktime=locktime, threshold=threshold, height=height,
        output=rows.output_bytes(utxo.output),
    )  # fmt: skip
    for address in owners_of(utxo.output).addresses:
        models.XOwner.objects.create(address=address, utxo=row, height=row.height)


def _write_tx(place: int, tx: AvmTx) -> None:
    models.XTransaction.objects.create(
        id=place, tx_id=tx.tx_id, height=0, index=place, kind=rows.kind_of(tx), peer_chain=None,
        burned=0, memo=b"", raw=tx.raw,
    )  # fmt: skip
    if isinstance(tx.unsigned, CreateAssetTx):
        asset = tx.unsigned
        models.XAsset.objects.create(
            asset_id=tx.tx_id, alias="", name=asset.name, symbol=asset.symbol,
            denomination=asset.denomination, height=0,
            extensions=sum(1 << state.fx_index for state in asset.initial_states),
        )  # fmt: skip
