"""The genesis of a network, parsed from its bytes, and the X-Chain's, which creates the staking asset (pchain.md 10.3)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple

from platform_app.blocks.block import ApricotCommitBlock, genesis_block
from platform_app.config import PlatformConfig
from platform_app.executor.rewards import potential_reward, rates_at
from platform_app.genesis.config import Allocation, GenesisConfig
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.base import ProofOfPossession, SignedBody, Tx
from platform_app.txs.codec import GENESIS_CODEC, build
from platform_app.txs.staking import AddPermissionlessValidatorTx, AddValidatorTx
from platform_app.txs.subnets import CreateChainTx
from primitives.codec import INTERFACE, U8, U32, U64, VERSION, Blob, Text
from primitives.hashing import sha256
from primitives.ids import AVM_ID, EMPTY_ID, EVM_ID, ID, PRIMARY_NETWORK_ID
from utxo.components import (
    UTXO,
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


_VALIDATOR_TXS = (AddValidatorTx, AddPermissionlessValidatorTx)


@dataclass(frozen=True, slots=True)
class GenesisUTXO:
    """An output, and the bytes stored with it."""

    utxo: UTXO
    message: Blob


@dataclass(frozen=True, slots=True)
class GenesisBody:
    """The layout of genesis bytes."""

    utxos: tuple[GenesisUTXO, ...]
    validators: tuple[SignedBody, ...]
    chains: tuple[SignedBody, ...]
    timestamp: U64
    initial_supply: U64
    message: Text


@dataclass(frozen=True, slots=True)
class Genesis:
    """The genesis of a network. Validators and chains are transactions without signatures."""

    raw: bytes
    genesis_id: ID
    """The sha256 hash of the bytes, which is the parent of the genesis block."""
    block: ApricotCommitBlock
    utxos: tuple[UTXO, ...]
    validators: tuple[Tx, ...]
    chains: tuple[Tx, ...]
    timestamp: int
    initial_supply: int
    """The supply without the rewards of the first validators: see `initial_stakers`."""
    message: str
    asset: Asset
    x_chain_id: ID
    c_chain_id: ID

    @property
    def network_id(self) -> int:
        """The network ID in its chains."""
        first = self.chains[0].unsigned
        assert isinstance(first, CreateChainTx)
        return first.network_id

    @property
    def asset_id(self) -> ID:
        """The staking asset."""
        return self.asset.asset_id


class InitialStakers(NamedTuple):
    """The current set after genesis."""

    stakers: tuple[Staker, ...]
    supply: int
    """The supply including all their potential rewards."""


def parse_genesis(raw: bytes) -> Genesis:
    """Parse genesis bytes.

    Raises:
        CodecError: They are not a genesis.
        GenesisError: Another kind of transaction is among the validators or the chains; there
            is no X-Chain or no C-Chain among the chains; the X-Chain creates no asset.
    """
    body = GENESIS_CODEC.unmarshal(GenesisBody, raw)
    chains = _txs(body.chains, CreateChainTx, "chains")
    x_chain, c_chain = _chain(chains, AVM_ID, "X-Chain"), _chain(chains, EVM_ID, "C-Chain")
    assert isinstance(x_chain.unsigned, CreateChainTx)
    return Genesis(
        raw=raw,
        genesis_id=ID(sha256(raw)),
        block=genesis_block(raw),
        utxos=tuple(allocated.utxo for allocated in body.utxos),
        validators=_txs(body.validators, _VALIDATOR_TXS, "validators"),
        chains=chains,
        timestamp=body.timestamp,
        initial_supply=body.initial_supply,
        message=body.message,
        asset=asset_of(x_chain.unsigned.genesis_data),
        x_chain_id=x_chain.tx_id,
        c_chain_id=c_chain.tx_id,
    )


def initial_stakers(genesis: Genesis, config: PlatformConfig) -> InitialStakers:
    """Return the genesis validators, which are current from the start, and the supply after them.

    Their rewards are calculated one after the other, each on the supply including the previous ones.
    """
    supply, stakers = genesis.initial_supply, []
    for tx in genesis.validators:
        staker = _staker(tx)
        reward = potential_reward(
            rates_at(config, staker.start),
            supply=supply,
            amount=staker.weight,
            duration=staker.end - staker.start,
        )
        supply += reward
        stakers.append(replace(staker, potential_reward=reward))
    return InitialStakers(tuple(stakers), supply)


def _staker(tx: Tx) -> Staker:
    unsigned = tx.unsigned
    assert isinstance(unsigned, _VALIDATOR_TXS)
    signer = unsigned.signer if isinstance(unsigned, AddPermissionlessValidatorTx) else None
    return Staker(
        tx_id=tx.tx_id,
        node_id=unsigned.validator.node_id,
        subnet_id=PRIMARY_NETWORK_ID,
        weight=unsigned.validator.weight,
        start=unsigned.validator.start,
        end=unsigned.validator.end,
        potential_reward=0,
        priority=Priority.PRIMARY_VALIDATOR_CURRENT,
        public_key=signer.public_key if isinstance(signer, ProofOfPossession) else None,
    )


def _txs(
    bodies: Iterable[SignedBody], kinds: type | tuple[type, ...], place: str
) -> tuple[Tx, ...]:
    txs = tuple(build(body.unsigned, body.credentials, GENESIS_CODEC) for body in bodies)
    for tx in txs:
        if not isinstance(tx.unsigned, kinds):
            raise GenesisError(
                PlatformGenesisReason.UNEXPECTED_TX, kind=type(tx.unsigned).__name__, place=place
            )
    return txs


def _chain(chains: Sequence[Tx], vm_id: ID, name: str) -> Tx:
    for tx in chains:
        if isinstance(tx.unsigned, CreateChainTx) and tx.unsigned.vm_id == vm_id:
            return tx
    raise GenesisError(PlatformGenesisReason.MISSING_CHAIN, name=name)
