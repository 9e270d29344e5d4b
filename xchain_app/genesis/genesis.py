"""The genesis of an X-Chain, parsed from its bytes in the P-Chain's genesis (xchain.md 2)."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from primitives.codec import Text
from primitives.ids import ID
from primitives.reasons import ErrorWithReason
from utxo.components import UTXO
from xchain_app.blocks.block import AvmBlock, genesis_block
from xchain_app.executor.effects import effects_of
from xchain_app.genesis.stop_vertex import stop_vertex
from xchain_app.txs.base import AvmTx, CreateAssetTx
from xchain_app.txs.codec import GENESIS_CODEC, build


class AvmGenesisReason(StrEnum):
    """Why bytes are not a usable genesis, with the reference's messages."""

    NO_ASSETS = "genesis creates no asset"
    BASE_OUTPUTS = "genesis asset must have non-empty state"


class AvmGenesisError(ErrorWithReason):
    """Bytes that are not a usable genesis."""


@dataclass(frozen=True, slots=True)
class GenesisDefinition:
    """An asset with its alias."""

    alias: Text
    asset: CreateAssetTx


@dataclass(frozen=True, slots=True)
class AvmGenesisLayout:
    """The layout of the genesis bytes. The assets have no type IDs."""

    assets: tuple[GenesisDefinition, ...]


@dataclass(frozen=True, slots=True)
class GenesisAlias:
    """An asset of the genesis: its name among clients, and the transaction that creates it."""

    alias: str
    tx: AvmTx


@dataclass(frozen=True, slots=True)
class AvmGenesis:
    """The first state of an X-Chain."""

    chain_id: ID
    assets: tuple[GenesisAlias, ...]
    """The assets; fees are paid in the first one."""
    stop_vertex: bytes
    block: AvmBlock
    """The block of height 0, without transactions."""

    @property
    def fee_asset_id(self) -> ID:
        """The asset in which fees are paid."""
        return self.assets[0].tx.tx_id

    def utxos(self) -> Iterator[UTXO]:
        """Yield the first UTXOs."""
        for asset in self.assets:
            yield from effects_of(asset.tx).produced


def parse_genesis(raw: bytes, chain_id: ID) -> AvmGenesis:
    """Parse the genesis of a chain with this blockchain ID.

    Raises:
        CodecError: The bytes are not an X-Chain genesis.
        AvmGenesisError: They create no asset, or an asset has base outputs.
    """
    layout = GENESIS_CODEC.unmarshal(AvmGenesisLayout, raw)
    if not layout.assets:
        raise AvmGenesisError(AvmGenesisReason.NO_ASSETS)
    if any(definition.asset.outputs for definition in layout.assets):
        raise AvmGenesisError(AvmGenesisReason.BASE_OUTPUTS)
    assets = tuple(
        GenesisAlias(definition.alias, build(definition.asset, (), GENESIS_CODEC))
        for definition in layout.assets
    )
    vertex = stop_vertex(chain_id)
    return AvmGenesis(chain_id, assets, vertex.raw, genesis_block(vertex.vertex_id))


def encode_genesis(definitions: tuple[GenesisDefinition, ...]) -> bytes:
    """Return the genesis bytes of assets, which are sorted by alias."""
    ordered = sorted(definitions, key=lambda definition: definition.alias)
    return GENESIS_CODEC.marshal(AvmGenesisLayout(tuple(ordered)))
