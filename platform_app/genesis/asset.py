"""The X-Chain's genesis, which creates the staking asset and determines its ID (pchain.md 10.3)."""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

from platform_app.genesis.config import Allocation, GenesisConfig
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.txs.codec import GENESIS_CODEC
from primitives.codec import INTERFACE, U8, U32, VERSION, Blob, Text
from primitives.hashing import sha256
from primitives.ids import EMPTY_ID, ID
from utxo.components import (
    OutputOwners,
    TransferableInput,
    TransferableOutput,
    TransferOutput,
    UtxoOutput,
)

ALIAS = SYMBOL = "AVAX"
NAME = "Avalanche"
_CREATE_ASSET = 1
"""The type of the X-Chain's transaction that creates an asset."""
_OUTPUT = Annotated[UtxoOutput, INTERFACE]


@dataclass(frozen=True, slots=True)
class InitialState:
    """The initial holders of an asset; fx 0 is secp256k1fx."""

    fx_index: U32
    outputs: tuple[Annotated[UtxoOutput, INTERFACE], ...]


@dataclass(frozen=True, slots=True)
class CreateAsset:
    """The fields of the transaction that creates an asset."""

    network_id: U32
    blockchain_id: ID
    outputs: tuple[TransferableOutput, ...]
    inputs: tuple[TransferableInput, ...]
    memo: Blob
    name: Text
    symbol: Text
    denomination: U8
    states: tuple[InitialState, ...]


@dataclass(frozen=True, slots=True)
class GenesisAsset:
    """An asset with its alias."""

    alias: Text
    asset: CreateAsset


@dataclass(frozen=True, slots=True)
class XChainGenesis:
    """The layout of the X-Chain's genesis."""

    assets: tuple[GenesisAsset, ...]


class Asset(NamedTuple):
    """The staking asset, as clients query it. `denomination` is the number of its decimals."""

    asset_id: ID
    alias: str
    name: str
    symbol: str
    denomination: int


def build_x_chain_genesis(config: GenesisConfig) -> bytes:
    """Return the X-Chain's genesis bytes."""
    holders = sorted(
        (allocation for allocation in config.allocations if allocation.x_chain_amount > 0),
        key=lambda holder: (holder.x_chain_amount, holder.address),
    )
    outputs = sorted(map(_output, holders), key=_bytes_of)
    asset = CreateAsset(
        network_id=config.network_id,
        blockchain_id=EMPTY_ID,
        outputs=(),
        inputs=(),
        memo=b"".join(holder.message for holder in holders),
        name=NAME,
        symbol=SYMBOL,
        denomination=config.denomination,
        states=(InitialState(0, tuple(outputs)),) if outputs else (),
    )
    return GENESIS_CODEC.marshal(XChainGenesis((GenesisAsset(ALIAS, asset),)))


def asset_of(x_chain_genesis: bytes) -> Asset:
    """Return the first asset that the X-Chain's genesis bytes create: the staking asset.

    Raises:
        CodecError: The bytes are not an X-Chain genesis.
        GenesisError: They create no asset.
    """
    first = _first_asset(x_chain_genesis)
    transaction = b"".join(
        (
            VERSION,
            GENESIS_CODEC.pack(_CREATE_ASSET, U32),
            GENESIS_CODEC.pack(first.asset),
            GENESIS_CODEC.pack(0, U32),
        )
    )
    return Asset(
        asset_id=ID(sha256(transaction)),
        alias=first.alias,
        name=first.asset.name,
        symbol=first.asset.symbol,
        denomination=first.asset.denomination,
    )


def _first_asset(x_chain_genesis: bytes) -> GenesisAsset:
    assets = GENESIS_CODEC.unmarshal(XChainGenesis, x_chain_genesis).assets
    if not assets:
        raise GenesisError(PlatformGenesisReason.MISSING_ASSET)
    return assets[0]


def _output(holder: Allocation) -> UtxoOutput:
    return TransferOutput(holder.x_chain_amount, OutputOwners(0, 1, (holder.address,)))


def _bytes_of(output: UtxoOutput) -> bytes:
    return GENESIS_CODEC.pack(output, _OUTPUT)
