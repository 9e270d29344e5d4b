"""The genesis of a network, parsed from its genesis bytes (pchain.md 10.3). `building` creates them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from platform_app.blocks.block import ApricotCommitBlock, genesis_block
from platform_app.config import RewardConfig
from platform_app.executor.proposal import potential_reward
from platform_app.genesis.asset import Asset, asset_of
from platform_app.genesis.errors import GenesisError, PlatformGenesisReason
from platform_app.state.staker import Priority, Staker
from platform_app.txs.base import SignedBody, Tx
from platform_app.txs.codec import GENESIS_CODEC, build
from platform_app.txs.components import ProofOfPossession
from platform_app.txs.staking import AddPermissionlessValidatorTx, AddValidatorTx
from platform_app.txs.subnets import CreateChainTx
from primitives.codec import U64, Blob, Text
from primitives.hashing import sha256
from primitives.ids import AVM_ID, EVM_ID, ID, PRIMARY_NETWORK_ID
from utxo.components import UTXO

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


def initial_stakers(genesis: Genesis, config: RewardConfig) -> InitialStakers:
    """Return the genesis validators, which are current from the start, and the supply after them.

    Their rewards are calculated one after the other, each on the supply including the previous ones.
    """
    supply, stakers = genesis.initial_supply, []
    for tx in genesis.validators:
        staker = _staker(tx)
        reward = potential_reward(
            config, supply=supply, amount=staker.weight, duration=staker.end - staker.start
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
