"""A chain of coreth in memory, from a genesis and the bytes of its blocks."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.rules import Exported
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import TransactionRefused
from cchain_app.blocks.receipt import encode_logs
from cchain_app.evm.select import select_engine, select_trie
from cchain_app.evm.trie import Tries
from cchain_app.first_block import first_block
from cchain_app.genesis import load_genesis
from cchain_app.precompiles.verification import FindSigners, WarpIdentity
from cchain_app.processing import BlockExecutor, EvmProcessingBlocks, VerifiedBlock
from cchain_app.rules.coreth.block import CorethFormat
from cchain_app.rules.coreth.extension import CorethExtension
from cchain_app.rules.coreth.genesis import with_upgrades
from cchain_app.rules.coreth.rules import CorethRules
from cchain_app.rules.coreth.votes import NO_VOTES, Votes
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.transaction import InvalidTransaction, Transaction
from chainvm.port import BlockContext
from primitives.ids import ID, P_CHAIN_ID
from primitives.networks import LOCAL
from primitives.upgrades import UpgradeTimes
from primitives.warp import CanonicalSet
from tests.builders.cchain import MemoryState
from tests.builders.tries import MemoryNodes
from tests.conformance.coreth_vectors import document
from utxo.components import UTXO

FAR: Final = 4_000_000_000
"""A time after that of every block, in Unix seconds."""


def nothing_exported(source: ID, utxo_ids: Collection[ID]) -> Mapping[ID, UTXO]:
    """Return no outputs: shared memory is empty."""
    del source, utxo_ids
    return {}


def nobody_signs(source: ID, p_chain_height: int | None, *, primary_network: bool) -> CanonicalSet:
    """Return no validators."""
    del source, p_chain_height, primary_network
    return CanonicalSet((), 0)


@dataclass
class MemoryCoreth:
    """The chain; `tree` verifies and builds its blocks."""

    genesis_json: str
    upgrades: UpgradeTimes
    parameters: AtomicParameters
    exported: Exported = nothing_exported
    votes: Votes = NO_VOTES
    signers: FindSigners = nobody_signs
    engine_name: str = "reference"

    def __post_init__(self) -> None:
        """Begin the chain."""
        trie = select_trie(self.engine_name, cache_bytes=1 << 20, of_coreth=True)
        genesis = with_upgrades(load_genesis(self.genesis_json), self.upgrades)
        self.format = CorethFormat(trie.ordered_root, self.upgrades)
        head, update = first_block(trie, genesis, self.format)
        self.rules = CorethRules(
            genesis.config,
            self.upgrades,
            self.format,
            CorethExtension(lambda: self.parameters, self.exported, lambda: self.upgrades),
            WarpIdentity(
                self.parameters.network_id, lambda: self.parameters.blockchain_id, self.signers
            ),
            self.votes,
        )
        self.state, self.nodes = MemoryState(), MemoryNodes()
        self.state.apply(genesis.state_changes())
        self.nodes.apply(update)
        self.tries = Tries(trie, trie)
        self.tree = EvmProcessingBlocks(
            BlockExecutor(self.rules, select_engine(self.engine_name), encode_logs),
            self.tries,
            head,
            self.state,
            self.nodes,
        )
        self.blocks: list[AcceptedBlock] = [head]

    def read(self, candidate: CandidateBlock) -> list[Transaction] | TransactionRefused:
        """Return a block's transactions, or the error of one that cannot be read."""
        found = []
        for index, raw in enumerate(candidate.transactions):
            try:
                found.append(decode_transaction(raw, self.rules.config.chain_id))
            except InvalidTransaction as error:
                return TransactionRefused(index, error)
        return found

    def verify(self, raw: bytes, context: BlockContext | None = None) -> VerifiedBlock:
        """Parse and verify a block, which is processing from then on."""
        candidate = self.format.parse_block(raw)
        self.tree.verify(candidate, self.read(candidate), context or BlockContext(FAR))
        made = self.tree.get(ID(candidate.hash))
        assert made is not None
        return made

    def accept(self, raw: bytes, context: BlockContext | None = None) -> VerifiedBlock:
        """Parse, verify and accept a block."""
        made = self.verify(raw, context)
        self.tree.accept([made.block_id])
        self.state.apply(made.executed.changes)
        self.state.hashes[made.block.number] = made.block.hash
        self.nodes.apply(made.trie)
        self.tree.rebase(self.state, self.nodes)
        self.blocks.append(made.block)
        return made


def local_genesis() -> str:
    """Return the genesis file of the C-Chain of the reference's local network."""
    (case,) = (case for case in document("genesis") if case["networkID"] == LOCAL)
    text: str = case["genesisJSON"]
    return text


def local_parameters() -> AtomicParameters:
    """Return the IDs of the reference's local network."""
    return AtomicParameters(
        LOCAL,
        ID.parse("2owdGqyG6FFzTHy5qhenDXQcEghvr571KZE3gSfRJERSJinuwC"),
        frozenset({P_CHAIN_ID, ID.parse("2eNy1mUFdmaxXNj1eQHUe7Np4gju9sJsEtWQ4MX3ToiNKuADed")}),
        ID.parse("2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe"),
        10**9,
    )
