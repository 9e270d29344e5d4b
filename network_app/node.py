"""A node's part in its network besides the connections: keys, block producer, and the chains' outer blocks."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from cchain_app.chain import EvmChain
from cchain_app.services.runtime import EvmRuntime
from chaindb.chains import takes_part
from chaindb.events import ChainEvents
from chainvm.consensus import SoleConsensus
from chainvm.port import Block, ChainVM
from network_app import ports, selectors
from network_app.chains.accepting import Acceptor
from network_app.chains.avm import AvmBackend
from network_app.chains.backend import ChainBackend
from network_app.chains.cchain import EvmBackend
from network_app.chains.chain import NetworkChain
from network_app.chains.outer_blocks import OuterRows
from network_app.chains.platform import PlatformBackend
from network_app.chains.validators import PlatformValidators
from network_app.chains.voting import DeferredVM, VotedConsensus
from network_app.chains.wrapping import Wrapper
from network_app.producer import ProducerPolicy
from network_app.proposervm.building import BlockSigner
from network_app.proposervm.verification import Proposers
from network_app.settings import NetworkSettings
from network_app.snowman.parameters import ONE_VOTE, SnowParameters, default_alpha, parameters_of
from platform_app.chain import PlatformChain
from platform_app.selectors import stakers
from platform_app.services.runtime import PlatformRuntime
from platform_app.services.signatures import AggregationSlots
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from primitives.networks import LOCAL
from primitives.node_identity import NodeIdentity
from primitives.settings import ALL_SUBNETS, CommonSettings
from primitives.warp import UnsignedMessage
from xchain_app.chain import AvmChain
from xchain_app.services.runtime import AvmRuntime

if (
    TYPE_CHECKING
):  # loaded with the first outer block, with the connections, or with the first statement
    from network_app.chains.messages import MessageSigners
    from network_app.chains.relay import RelayedPeers
    from network_app.chains.statements import StatementSigners
    from network_app.consensus.runner import Runner
    from network_app.consensus.vm import VotedChain
    from network_app.proposervm.vm import ProposerVM
    from network_app.sync.handler import SharedParts
    from network_app.sync.requests import Requests
    from network_app.sync.voting import TakePart

B = TypeVar("B", bound=Block)


def _find_nothing() -> None:
    """Find no chain: the node's chains never change."""


class NodeNetwork:
    """One node of a network. Parts that are expensive, or impossible before the first start, are created lazily.

    Args:
        node: The settings that the apps of a node share.
        settings: The settings of its peers and of voting.
        platform: Its P-Chain.
        evms: Its EVM chains, the C-Chain first.
        proposers: Returns the proposers by P-Chain height; by default this network's block producers.
        avm: Its X-Chain; None: it takes part in a network without one.
    """

    def __init__(
        self,
        node: CommonSettings,
        settings: NetworkSettings,
        platform: PlatformRuntime,
        evms: Sequence[EvmRuntime],
        proposers: Proposers | None = None,
        *,
        avm: AvmRuntime | None = None,
    ) -> None:
        self.common = node
        self.settings = settings
        self.platform_chain = self._platform = platform.chain
        self.evm_chains = tuple(evm.chain for evm in evms)
        self._inner: tuple[PlatformRuntime | EvmRuntime | AvmRuntime, ...] = (
            platform,
            *(() if avm is None else (avm,)),
            *evms,
        )
        """The chains without outer blocks. It is replaced, never changed."""
        self._joined: tuple[ID, ...] = ()
        self.find_chains: Callable[[], object] = _find_nothing
        """Begins to run chains that were created since the last call. Blocking."""
        self._is_connected = False
        self._begun: dict[str, VotedChain[Any]] = {}
        """The chains of subnets for the engine that votes, by name."""
        self.producer = ProducerPolicy(node, platform.chain)
        """This network's block producer."""
        self.upgrades = platform.chain.config.upgrades
        """The activation times of the rules of outer blocks."""
        self._proposers = proposers
        self._validators: dict[ID, PlatformValidators] = {}
        self.platform = self._chain(
            platform.chain, platform.vm, PlatformBackend(platform.chain), first=lambda: 0
        )
        """The P-Chain for the network."""
        self._all_chains: dict[str, NetworkChain[Any]] = {platform.chain.name: self.platform}
        """All chains, those that NODE_CHAINS leaves out included."""
        if avm is not None:
            self._all_chains[avm.chain.name] = self._chain(
                avm.chain, avm.vm, AvmBackend(avm.chain), first=lambda: 0
            )
        for evm in evms:
            self._all_chains[evm.chain.name] = self._evm_chain(evm)
        self._note_joined()

    def add(self, evm: EvmRuntime) -> None:
        """Take part in a chain that the node begins to run."""
        self.evm_chains = (*self.evm_chains, evm.chain)
        self._all_chains = {**self._all_chains, evm.chain.name: self._evm_chain(evm)}
        self._inner = (*self._inner, evm)
        self._note_joined()
        if self._is_connected:
            self._connect(evm)

    def remove(self, evm: EvmRuntime) -> None:
        """Take no part in a chain that could not begin to run."""
        self.evm_chains = tuple(chain for chain in self.evm_chains if chain is not evm.chain)
        self._inner = tuple(inner for inner in self._inner if inner is not evm)
        name = evm.chain.name
        self._all_chains = {key: chain for key, chain in self._all_chains.items() if key != name}
        self._note_joined()

    @cached_property
    def identity(self) -> NodeIdentity:
        """This node's keys, from its files.

        Raises:
            OSError: A file cannot be read, because the node has not been initialised.
            IdentityError: The files contain no valid identity.
        """
        return self._platform.identity.keys

    @cached_property
    def signers(self) -> "StatementSigners":
        """The signers of the P-Chain's statements about L1s."""
        from network_app.chains.statements import StatementSigners

        return StatementSigners(
            self._platform,
            lambda: self.identity,
            self._aggregations,
            self._relayed(self._platform.name),
        )

    def signatures(
        self, message: UnsignedMessage, justification: bytes, node_ids: Collection[NodeID]
    ) -> Mapping[NodeID, bytes]:
        """Return the signatures of a statement by those nodes that sign; see `StatementSigners`."""
        return self.signers(message, justification, node_ids)

    @cached_property
    def message_signers(self) -> "MessageSigners":
        """The signers of the EVM chains' warp messages."""
        from network_app.chains.messages import MessageSigners

        is_relayed = self._relayed(self._platform.name) is not None
        return MessageSigners(
            self._platform,
            lambda: self.identity,
            self._aggregations,
            self._relayed if is_relayed else None,
        )

    @cached_property
    def _aggregations(self) -> AggregationSlots:
        return AggregationSlots(self.common.rpc_threads)

    def _relayed(self, name: str) -> "RelayedPeers | None":
        """Return the peers of a chain for a process without connections; None: the embedded profile, or no network.

        The process with the connections asks its own peers in their place.
        """
        if self.common.profile == "embedded" or not self.settings.network:
            return None
        from network_app.chains.relay import RelayedPeers

        return RelayedPeers(self._platform.db, self.events, name)

    @property
    def events(self) -> ChainEvents:
        """The event channel to the followers of its chains."""
        return self._platform.events

    @property
    def evm_chain(self) -> EvmChain:
        """The C-Chain."""
        return self.evm_chains[0]

    @property
    def names(self) -> list[str]:
        """The names of its chains, those that NODE_CHAINS leaves out included."""
        return list(self._all_chains)

    @property
    def chains(self) -> Mapping[str, NetworkChain[Any]]:
        """The chains that this node runs, by name."""
        return {
            name: chain
            for name, chain in self._all_chains.items()
            if takes_part(name, self.common.chains)
        }

    def validators(self, subnet_id: ID = PRIMARY_NETWORK_ID) -> PlatformValidators:
        """Return the validators of a subnet by P-Chain height."""
        found = self._validators.get(subnet_id)
        if found is None:
            proposers = self._proposers or partial(self.producer.validators_at, subnet_id=subnet_id)
            found = self._validators[subnet_id] = PlatformValidators(self._platform, proposers)
        return found

    @property
    def primary_chains(self) -> "Mapping[str, NetworkChain[Any]]":
        """The chains of the Primary Network that this node runs, by name."""
        return {
            name: chain
            for name, chain in self.chains.items()
            if self.subnet_of(name) == PRIMARY_NETWORK_ID
        }

    def subnet_of(self, name: str) -> ID:
        """Return the subnet that validates a chain of this node."""
        return next(item.chain.subnet_id for item in self._inner if item.chain.name == name)

    def subnets(self) -> set[ID]:
        """Return the subnets that this node tracks: those with a chain that it runs, and those of the settings."""
        named = {ID.parse(text) for text in self.common.track_subnets if text != ALL_SUBNETS}
        return named | {chain.subnet_id for chain in self.evm_chains} - {PRIMARY_NETWORK_ID}

    def joined_subnets(self) -> tuple[ID, ...]:
        """Return the tracked subnets to whose validators this node connects; quick.

        Anybody may create a subnet and name validators. So if this node tracks all subnets, it connects to the validators of
        those that the operator names as well.
        """
        return self._joined

    def _note_joined(self) -> None:
        self._joined = tuple(sorted(filter(self.common.watches, self.subnets())))

    def begin_chain(self, name: str) -> None:
        """Prepare a chain of a subnet for requests and votes. Blocking."""
        next(evm for evm in self.evm_chains if evm.name == name).read_genesis()
        chain = self.chains[name]
        chain.begin()
        self._begun[name] = chain.voted(followed=self.producer.node_id)

    def connect_consensus(self) -> None:
        """Connect the chains' block producers to the consensus on outer blocks.

        If the validators vote, the producers only send an event that there are transactions for a block.
        """
        self._is_connected = True
        for runtime in self._inner:
            self._connect(runtime)

    def _connect(self, runtime: PlatformRuntime | EvmRuntime | AvmRuntime) -> None:
        outer = self._all_chains[runtime.chain.name]
        voted = self._voted(outer, runtime.chain.subnet_id) if self.common.votes else None
        runtime.decide_by(voted or outer.consensus)

    def parameters(self) -> SnowParameters:
        """Return the parameters of voting for the current validators. Blocking.

        Raises:
            InvalidParameters: With these parameters no block could be decided, or not safely.
        """
        count = len(stakers.current_validators(self._platform, PRIMARY_NETWORK_ID).by_node)
        node = self.common
        local = node.network_id == LOCAL and node.parameters != "avalanchego"
        return parameters_of(self.settings.snow, default_alpha(count, local=local))

    def take_part(self) -> "TakePart | None":
        """Return the factory of this node's part in the consensus on each chain; None for a sole producer.

        Blocking. If a single node produces all blocks, the other nodes take part as if it were the only
        validator: they accept its accepted blocks by its vote (`k = 1`), and their own votes are not requested.
        """
        from network_app.consensus.runner import Runner
        from network_app.consensus.validators import CurrentValidators, OneValidator

        producer = self.producer.node_id
        if producer is None:
            parameters, only = self.parameters(), None
        elif producer == self.producer.own:
            return None
        else:
            parameters, only = ONE_VOTE, OneValidator(producer)
        primary = self.primary_chains
        voted = {name: chain.voted(followed=producer) for name, chain in primary.items()}
        # A chain that does not run here, or has not caught up, may have exported what a block of another one imports.
        every = [name for name in self._all_chains if self.subnet_of(name) == PRIMARY_NETWORK_ID]
        runs_all = len(voted) == len(every)

        def take_part(
            chain: ports.AcceptedChain, shared: "SharedParts", requests: "Requests"
        ) -> "Runner[Any]":
            validators = CurrentValidators(
                only or shared.directory,
                shared.bench,
                parameters,
                own=shared.network.node_id,
                alias=chain.alias,
                subnet_id=self.subnet_of(chain.alias),
            )
            decided = only is not None or not runs_all
            return Runner(
                replace(
                    voted.get(chain.alias) or self._begun[chain.alias],
                    decided=lambda: decided or not shared.all_follow(),
                ),
                shared.network,
                requests,
                validators,
                budget=shared.budget,
                config=shared.config,
                parameters=parameters,
            )

        return take_part

    def _voted(self, chain: NetworkChain[Any], subnet_id: ID) -> VotedConsensus:
        return VotedConsensus(
            chain.alias,
            self.events,
            chain.vm.lock,
            chain.rows,
            self.validators(subnet_id).proposers,
            chain_id=lambda: chain.chain_id,
            own=lambda: self.producer.own,
        )

    def _chain(
        self,
        chain: PlatformChain | EvmChain | AvmChain,
        vm: ChainVM[B],
        inner: ChainBackend[B],
        *,
        first: Callable[[], int],
    ) -> NetworkChain[B]:
        def chain_id() -> ID:
            return chain.blockchain_id

        rows = OuterRows(chain.db, chain.name, inner.blocks, first)
        deferred = DeferredVM(vm, partial(self._wrap, rows, chain, chain_id), chain.vm_lock)
        counted = chain.building.count
        consensus = SoleConsensus(
            deferred.get,
            counted,
            lambda: self.producer.is_own and selectors.is_bootstrapped(chain.name),
            chain.vm_lock,
        )
        acceptor = Acceptor(rows, inner, deferred, building=counted)
        return NetworkChain(rows, chain_id, inner, acceptor, consensus)

    def _evm_chain(self, evm: EvmRuntime) -> NetworkChain[Any]:
        chain = evm.chain
        network_chain = self._chain(
            chain, evm.vm, EvmBackend(evm), first=lambda: chain.first_number
        )
        chain.on_rewinding.append(network_chain.rows.forget_above)
        return network_chain

    def _wrap(
        self,
        rows: OuterRows,
        chain: PlatformChain | EvmChain | AvmChain,
        chain_id: Callable[[], ID],
        vm: ChainVM[B],
    ) -> "ProposerVM[B]":
        """Wrap a chain in the proposer VM, after adding missing outer blocks to its accepted blocks."""
        from network_app.proposervm.vm import ProposerVM

        own, upgrades = self.identity, self.upgrades
        signature = BlockSigner(chain_id(), own.certificate_der, own.tls_key)
        validators = self.validators(chain.subnet_id)
        Wrapper(
            rows,
            chain.lock,
            validators,
            node_id=own.node_id,
            signature=signature,
            upgrades=upgrades,
        ).wrap_missing()
        return ProposerVM(
            vm,
            rows,
            validators,
            node_id=own.node_id,
            signature=signature,
            upgrades=upgrades,
        )
