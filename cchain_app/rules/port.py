"""The rules in which EVM chains differ: `EvmChain.rules` is an object with these methods.

`ethereum` has the rules of Ethereum's blocks, `coreth` those of the C-Chain of networks of avalanchego, `subnet_evm` those of
chains of subnets.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal
from cchain_app.blocks.assembly import OrderedRoot
from cchain_app.blocks.candidate import CandidateBlock, CandidateHeader
from cchain_app.blocks.effects import BlockEffects, PayloadPlace
from cchain_app.blocks.errors import TransactionRefused
from cchain_app.blocks.header import Header
from cchain_app.blocks.receipt import EncodeLogs
from cchain_app.config import ChainConfig
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, StateChanges, StateReader
from cchain_app.genesis import Genesis
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock, UnknownParent
from chainvm.port import BlockContext
from primitives.evm import Hash


class BlockFormat(Protocol):
    """The bytes of a chain's blocks; it does not depend on the genesis."""

    def decode_header(self, data: bytes) -> Header:
        """Read a header.

        Raises:
            MalformedHeader: The bytes are not a header of this format.
        """

    def parse_header(self, raw: bytes) -> CandidateHeader:
        """Read the header of a block, without the rest.

        Raises:
            InvalidBlock: By a subclass: the bytes do not begin as a block does.
        """

    def parse_block(self, raw: bytes) -> CandidateBlock:
        """Read a block.

        Raises:
            InvalidBlock: By a subclass: the bytes are not a block.
        """

    def genesis_block(self, genesis: Genesis, state_root: Hash) -> AcceptedBlock:
        """Return block 0."""


class BlockExtension(Protocol):
    """A part of a chain's blocks that Ethereum's blocks do not have.

    A block may carry a payload as the last item of its body. The extra data of its header commits to the payload.
    """

    @property
    def acts_after(self) -> bool:
        """Whether a payload is verified, and changes the state, after the block's transactions."""

    def extra_data(self, payload: bytes | None) -> bytes:
        """Return the extra data of a block that this node builds; None: the block has no payload."""

    def verify(self, candidate: CandidateBlock, context: BlockContext) -> None:
        """Verify that a block's payload and extra data belong together.

        Raises:
            InvalidBlock: By a subclass.
        """

    def effects(self, payload: bytes, place: PayloadPlace) -> BlockEffects:
        """Verify the content of a payload, and return what it does to the state besides the block's transactions.

        Raises:
            InvalidBlock: By a subclass.
        """


class RuleSet(Protocol):
    """A kind of EVM chain: what differs before a genesis is known. A chain's row has its name."""

    @property
    def name(self) -> str:
        """Its name in rows."""

    @property
    def format(self) -> BlockFormat:
        """The bytes of the blocks."""

    def load_genesis(self, text: bytes) -> Genesis:
        """Read a genesis file.

        Raises:
            GenesisFileError: It cannot be used.
        """

    def rules(self, genesis: Genesis, identity: WarpIdentity | None) -> "ChainRules":
        """Return the rules of a chain.

        Args:
            genesis: Its genesis.
            identity: Who it is to other chains; None: it has no warp precompile.
        """


class ChainRules(Protocol):
    """The rules of one chain's blocks."""

    @property
    def config(self) -> ChainConfig:
        """The chain's parameters."""

    @property
    def format(self) -> BlockFormat:
        """The bytes of its blocks."""

    @property
    def extension(self) -> BlockExtension:
        """The part of its blocks that Ethereum's blocks do not have."""

    @property
    def pays_base_fee(self) -> bool:
        """Whether the coinbase gets the base fee of a block's gas, after its transactions."""

    @property
    def fees_follow_time(self) -> bool:
        """Whether the base fee of the block after a given one depends on the new block's time."""

    def on(self, state: StateReader) -> "ChainRules":
        """Return the rules for the blocks after a block with this state, which may be undecided.

        Precompiles may decide on fees and the coinbase of the next block.
        """

    def base_fee_after(
        self, parent: AcceptedBlock, timestamp: int, fraction: int = 0
    ) -> int | None:
        """Return the base fee of the block after `parent`, in wei; None before London.

        Args:
            parent: The block before.
            timestamp: The new block's time in Unix seconds.
            fraction: Milliseconds of the new block's time after that second; only coreth's rules use them.
        """

    def gas_limit_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the gas limit of the block after `parent`; arguments as for `base_fee_after`."""

    def blob_base_fee_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the price of blob gas in the block after `parent`, in wei; 1 before Cancun."""

    def blob_base_fee(self, block: AcceptedBlock) -> int:
        """Return the price of blob gas in a block, in wei; 1 before Cancun."""

    def env_after(self, parent: AcceptedBlock, timestamp: int, fraction: int = 0) -> BlockEnv:
        """Return the environment of the block after `parent`; it is the same for every builder.

        Args:
            parent: The block before.
            timestamp: The new block's time in Unix seconds, not below the parent's.
            fraction: Milliseconds of the new block's time after that second; rules without such times ignore them.

        Raises:
            BlockRefused: No block can follow, because the chain's fees are out of range.
        """

    def builds_from(self, parent: AcceptedBlock, milliseconds: int) -> int | None:
        """Return the time from which a block may be built, in Unix milliseconds; None: never, by these rules.

        Args:
            parent: The block before.
            milliseconds: The node's time in Unix milliseconds; the result is not before it.
        """

    def env_of(self, block: AcceptedBlock | CandidateBlock) -> BlockEnv:
        """Return the environment in which a block was executed."""

    def changes_before(
        self, parent: AcceptedBlock, env: BlockEnv, state: StateReader
    ) -> StateChanges:
        """Return the state changes that come first in a block: precompiles begin or end at its time.

        Args:
            parent: The block before.
            env: The environment of the block.
            state: The state after the parent.
        """

    def verify_messages(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        context: BlockContext,
        claimed: CandidateBlock | None = None,
    ) -> BlockEnv:
        """Verify the warp messages in access lists; return the environment of the block with the results.

        Args:
            env: The environment of the block.
            transactions: The block's transactions, or those from which it will be built.
            context: The block's context. If the network has decided the block, its own results are taken.
            claimed: The block of another node, which has results of its own; None: the block is this node's.

        Raises:
            BlockRefused: It has other results, or does not pay for the verification of its messages.
        """

    def without_room(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        used: Mapping[int, int],
        *,
        has_payload: bool,
    ) -> frozenset[int]:
        """Return the indexes of transactions for which a block has no room: for their gas, or in its header for their messages.

        Args:
            env: The environment, as `verify_messages` returned it.
            transactions: The transactions from which the block will be built.
            used: Those that are already in the block, with the gas that they use; of the others the gas limit counts.
            has_payload: Whether the block has a payload.
        """

    def message_results(self, env: BlockEnv, transactions: Sequence[Transaction]) -> bytes:
        """Return the end of a block's extra data: which messages of its transactions do not hold."""

    def unknown_parent(self, header: Header, head: Hash) -> UnknownParent:
        """Return the error of a block whose parent is neither processing nor the head."""

    def unreadable(self, candidate: CandidateBlock, refusal: TransactionRefused) -> InvalidBlock:
        """Return the error for a block with a transaction that this chain cannot read."""

    def verify_header(
        self, candidate: CandidateBlock, parent: AcceptedBlock, context: BlockContext
    ) -> BlockEnv:
        """Verify the fields of a header that do not depend on the execution, and the extension.

        Return the environment in which the block has to be executed.

        Args:
            candidate: The block.
            parent: The block that it should follow.
            context: The block's context.

        Raises:
            InvalidBlock: By a subclass.
        """

    def verify_outcome(self, candidate: CandidateBlock, made: AcceptedBlock) -> None:
        """Check that executing a candidate's transactions makes exactly the block that the candidate claims.

        Raises:
            BlockRefused: The reason names the first field that differs.
        """

    def assemble(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        executed: ExecutedBlock,
        *,
        state_root: Hash,
        ordered_root: OrderedRoot,
        encode_logs: EncodeLogs,
        extra_data: bytes,
        payload: bytes | None,
        withdrawals: Sequence[Withdrawal],
        parent: AcceptedBlock,
        claimed: CandidateBlock | None = None,
    ) -> AcceptedBlock:
        """Return the block that executing transactions in this environment makes.

        Args:
            env: The environment in which the block was executed.
            transactions: The transactions of the block, in order.
            executed: The results of executing them.
            state_root: State root after the block.
            ordered_root: Computes the roots of transactions and receipts.
            encode_logs: Encodes the logs of receipts.
            extra_data: The header's extra data.
            payload: The extension's payload; None: the block has none.
            withdrawals: The payments of the payload.
            parent: The block before.
            claimed: The block of another node that has been executed, whose header is verified; None: the block is this
                node's.
        """
