"""What a node has of its network besides the connections: its keys, who makes blocks, and its chains' outer blocks."""

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Protocol, TypeVar

from cchain_app.chain import EvmChain
from chaindb.chains import Chain
from chaindb.pointers import Pointers
from chainvm.port import Block, ChainVM
from network_app import addresses, ports, producer, selectors
from network_app.chains import voting
from network_app.chains.accepting import Acceptor
from network_app.chains.backend import ChainBackend
from network_app.chains.cchain import EvmBackend
from network_app.chains.chain import NetworkChain
from network_app.chains.consensus import OuterConsensus
from network_app.chains.outer_blocks import OuterRows
from network_app.chains.platform import PlatformBackend
from network_app.chains.validators import PlatformValidators
from network_app.chains.voting import VotedConsensus
from network_app.chains.wrapping import Wrapper
from network_app.consensus.runner import Runner
from network_app.consensus.validators import CurrentValidators, OneValidator
from network_app.producer import Producer
from network_app.proposervm.building import Signature
from network_app.proposervm.verification import Proposers, Upgrades
from network_app.proposervm.vm import ProposerVM
from network_app.snowman.parameters import ONE_VOTE, Parameters, default_alpha, parameters_of
from network_app.sync.handler import Shared
from network_app.sync.requests import Requests
from network_app.sync.voting import TakePart
from platform_app.chain import PlatformChain
from platform_app.selectors import stakers
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.networks import LOCAL
from primitives.node_identity import NodeIdentity

LOCAL_EPOCH = 30
PUBLIC_EPOCH = 300
"""Seconds (p2p.md 11.4)."""

B = TypeVar("B", bound=Block)


class Settings(addresses.Settings, producer.Settings, voting.Settings, Protocol):
    """What the network looks at of the node's settings; see `NodeSettings` for what each one means."""

    @property
    def network_id(self) -> int:
        """The network's number."""

    @property
    def dials_private(self) -> bool:
        """Whether private addresses that validators claim are dialled."""

    @property
    def chains(self) -> tuple[str, ...]:
        """The chains that this node takes part in."""

    @property
    def kept_decisions(self) -> int:
        """So many decisions on blocks are kept as rows."""

    @property
    def parameters(self) -> str:
        """Whose amounts, limits and rules the P-Chain has: "avalanchego" are the reference's."""


class NodeNetwork:
    """One node of a network. Whatever costs something, or is not there before the first start, is made late.

    Args:
        node: Its settings.
        platform: Its P-Chain.
        evm: Its C-Chain.
        proposers: Returns who may propose, by P-Chain height; by default who makes this network's blocks.
    """

    def __init__(
        self,
        node: Settings,
        platform: PlatformChain,
        evm: EvmChain,
        proposers: Proposers | None = None,
    ) -> None:
        self.settings = self._node = node
        self.platform_chain = self._platform = platform
        self.evm_chain = self._evm = evm
        self.producer = Producer(node, platform)
        """Who makes this network's blocks."""
        local = node.network_id == LOCAL
        self.upgrades = Upgrades(epoch_duration=LOCAL_EPOCH if local else PUBLIC_EPOCH)
        """Which rules of outer blocks hold: on this node's networks all, from genesis on."""
        self._validators = PlatformValidators(platform, proposers or self.producer.validators_at)
        self.platform = self._chain(
            Chain.P,
            platform,
            platform.vm,
            PlatformBackend(platform),
            lambda: PRIMARY_NETWORK_ID,
            first=lambda: 0,
        )
        """The P-Chain for the network."""
        self.evm = self._chain(
            Chain.C,
            evm,
            evm.vm,
            EvmBackend(evm),
            lambda: evm.blockchain_id,
            first=lambda: evm.first_number,
        )
        """The C-Chain for the network."""
        evm.on_rewinding.append(self.evm.rows.forget_above)

    @cached_property
    def identity(self) -> NodeIdentity:
        """This node's keys, from its files.

        Raises:
            OSError: A file cannot be read: the node has not been initialised.
            IdentityError: They make no node.
        """
        return self._platform.identity.keys

    @property
    def pointers(self) -> Pointers:
        """What tells those who follow its chains."""
        return self._platform.pointers

    @property
    def chains(self) -> list[NetworkChain[Any]]:
        """The chains that this node takes part in."""
        both: list[NetworkChain[Any]] = [self.platform, self.evm]
        return [one for one in both if one.alias in self._node.chains]

    def decide(self) -> None:
        """Let the chains' makers of blocks make them with their outer ones, if this node makes them.

        Where the validators vote they only tell that there is something to put into one.
        """
        if self._node.votes:
            platform, evm = self._voted(Chain.P, self.platform), self._voted(Chain.C, self.evm)
            self._platform.consensus, self._evm.consensus = platform, evm
        else:
            self._platform.consensus = self.platform.consensus
            self._evm.consensus = self.evm.consensus

    def parameters(self) -> Parameters:
        """Return the parameters of voting, as of the validators of now. Blocking.

        Raises:
            InvalidParameters: By these nothing could be decided, or nothing safely.
        """
        count = len(stakers.current_validators(self._platform, PRIMARY_NETWORK_ID).by_node)
        node = self._node
        local = node.network_id == LOCAL and node.parameters != "avalanchego"
        return parameters_of(self._node, default_alpha(count, local=local))

    def take_part(self) -> TakePart | None:
        """Return what makes this node's part in deciding on each chain; None for the node that decides alone.

        Blocking. Where one node makes all blocks the others take part as if it were the only validator: what
        it has accepted they accept by its vote (`k = 1`), and nobody asks for theirs.
        """
        producer, node = self.producer.node_id, self._node
        if producer is None:
            parameters, only = self.parameters(), None
        elif producer == self.producer.own:
            return None
        else:
            parameters, only = ONE_VOTE, OneValidator(producer)
        voted = {one.alias: one.voted(node, followed=producer) for one in self.chains}

        def take_part(
            chain: ports.AcceptedChain, shared: Shared, requests: Requests
        ) -> Runner[Any]:
            validators = CurrentValidators(
                only or shared.directory,
                shared.bench,
                parameters,
                own=shared.network.node_id,
                alias=chain.alias,
            )
            return Runner(
                voted[chain.alias],
                shared.network,
                requests,
                validators,
                budget=shared.budget,
                config=shared.config,
                parameters=parameters,
            )

        return take_part

    def _voted(self, alias: Chain, chain: NetworkChain[B]) -> VotedConsensus[B]:
        return VotedConsensus(
            alias,
            self.pointers,
            chain.consensus,
            chain.rows,
            self._validators.proposers,
            chain_id=lambda: chain.chain_id,
            own=lambda: self.producer.own,
        )

    def _chain(
        self,
        alias: Chain,
        chain: PlatformChain | EvmChain,
        vm: ChainVM[B],
        inner: ChainBackend[B],
        chain_id: Callable[[], ID],
        *,
        first: Callable[[], int],
    ) -> NetworkChain[B]:
        rows = OuterRows(chain.db, alias, inner.blocks, first)
        counted = chain.building.count
        consensus = OuterConsensus(
            vm,
            partial(self._wrap, rows, chain_id),
            counted,
            lambda: self.producer.is_own and selectors.is_bootstrapped(alias),
        )
        acceptor = Acceptor(rows, inner, consensus, building=counted)
        return NetworkChain(rows, chain_id, inner, acceptor)

    def _wrap(self, rows: OuterRows, chain_id: Callable[[], ID], vm: ChainVM[B]) -> ProposerVM[B]:
        """Put the proposer VM around a chain, once all its accepted blocks have outer ones."""
        own, upgrades = self.identity, self.upgrades
        signature = Signature(chain_id(), own.certificate_der, own.tls_key)
        Wrapper(rows, self._validators, own.node_id, signature, upgrades).wrap_missing()
        return ProposerVM(
            vm,
            rows,
            self._validators,
            node_id=own.node_id,
            signature=signature,
            upgrades=upgrades,
        )
