"""The blocks of EVM chains of subnets: a `port.BlockFormat`, a `port.ChainRules` and a `port.RuleSet`.

The extra data of a header is the window of gas (`fees`), and since Durango the results of the warp messages in the block's
access lists, which are there without the warp precompile too.

Unspecified: the least time between blocks (ACP-226) is in each header; a local network with a single
block producer does not enforce it, so that transactions are mined at once. The coinbase gets the base fee at the end of the
block, where subnet-evm pays it after each transaction: only a transaction that reads the coinbase's balance sees that.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cchain_app.blocks import candidate, verification
from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal, make_block
from cchain_app.blocks.assembly import (
    MIN_BASE_FEE_PER_BLOB_GAS,
    OrderedRoot,
    env_of,
    next_env,
    transactions_root,
)
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import (
    BlockReason,
    BlockRefused,
    TransactionRefused,
    unknown_parent,
    wrong_field,
)
from cchain_app.blocks.header import Header
from cchain_app.blocks.receipt import EncodeLogs, make_receipts
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, StateChanges, StateReader
from cchain_app.evm.upgrades import fee_config_after, fee_recipient_after
from cchain_app.genesis import Genesis
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.fee_config import MAX_BASE_FEE, FeeConfig
from cchain_app.precompiles.predicates import (
    NO_RESULTS,
    PredicateError,
    encode_results,
    parse_results,
    results_of,
)
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.rules.ethereum import NO_EXTENSION
from cchain_app.rules.port import BlockExtension, BlockFormat, ChainRules
from cchain_app.rules.precompiles import access_lists_of, begun, verify_verifiable, with_precompiles
from cchain_app.rules.subnet_evm.config import SubnetEvmConfig
from cchain_app.rules.subnet_evm.delay import due, next_excess, next_milliseconds, verify_delay
from cchain_app.rules.subnet_evm.fees import EMPTY_WINDOW, WINDOW_SIZE, next_base_fee, next_window
from cchain_app.rules.subnet_evm.genesis import load_genesis
from cchain_app.rules.subnet_evm.header import (
    DIFFICULTY,
    SubnetEvmHeader,
    decode_header,
)
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock, UnknownParent
from chainvm.port import MILLISECONDS, BlockContext
from primitives import uint64
from primitives.evm import ZERO_HASH, Address, Hash
from primitives.hashing import EMPTY_ROOT
from primitives.upgrades import UpgradeTimes

SUBNET_EVM: Final = "subnet-evm"
"""The name of these rules in rows."""

StateAfterBlock = Callable[[AcceptedBlock], StateReader]
"""Returns the state after a block."""

PREV_RANDAO: Final = Hash(DIFFICULTY.to_bytes(32))
"""What PREVRANDAO reads in each block: the difficulty."""


class SubnetEvmFormat:
    """Blocks of subnet-evm: its header, transactions, no uncles; a `BlockFormat`."""

    decode_header = staticmethod(decode_header)

    def parse_header(self, raw: bytes) -> candidate.CandidateHeader:
        """Read the header of a block. Raises as `candidate.parse_header`."""
        return candidate.parse_header(raw, decode_header)

    def parse_block(self, raw: bytes) -> CandidateBlock:
        """Read a block. Raises as `candidate.parse_block`."""
        return candidate.parse_block(raw, decode_header)

    def genesis_block(self, genesis: Genesis, state_root: Hash) -> AcceptedBlock:
        """Return block 0, with the header fields of the upgrades in force at that time."""
        config = _config_of(genesis)
        has_granite = config.has_granite(genesis.timestamp)
        header = SubnetEvmHeader(
            parent_hash=genesis.parent_hash,
            coinbase=genesis.coinbase,
            state_root=state_root,
            transactions_root=EMPTY_ROOT,
            receipts_root=EMPTY_ROOT,
            logs_bloom=bytes(256),
            difficulty=genesis.difficulty,
            number=genesis.number,
            gas_limit=genesis.gas_limit,
            gas_used=genesis.gas_used,
            timestamp=genesis.timestamp,
            extra_data=genesis.extra_data,
            mix_hash=genesis.mix_hash,
            nonce=genesis.nonce,
            base_fee=genesis.base_fee,
            blob_gas_used=genesis.blob_gas_used,
            excess_blob_gas=genesis.excess_blob_gas,
            parent_beacon_block_root=genesis.parent_beacon_block_root,
            timestamp_milliseconds=MILLISECONDS * genesis.timestamp if has_granite else None,
            min_delay_excess=config.initial_delay_excess if has_granite else None,
        )
        return make_block(header, (), ())


SUBNET_EVM_FORMAT: Final[BlockFormat] = SubnetEvmFormat()


@dataclass(frozen=True, slots=True)
class SubnetEvmRules:
    """The rules of a chain with subnet-evm's blocks; a `ChainRules`."""

    config: SubnetEvmConfig
    format: BlockFormat = SUBNET_EVM_FORMAT
    extension: BlockExtension = NO_EXTENSION
    identity: WarpIdentity | None = None
    """Who the chain is to other chains; None: it has no warp precompile."""
    state_after: StateAfterBlock | None = None
    """Returns the state after a block; None: no precompile of the chain decides on later blocks."""
    enforces_delay: bool = False
    """Whether a block has to wait until the delay in its parent's header has passed."""

    @property
    def pays_base_fee(self) -> bool:
        """True: nothing is burned."""
        return True

    @property
    def fees_follow_time(self) -> bool:
        """True: the base fee follows the gas of the last ten seconds."""
        return True

    def on(self, state: StateReader) -> "SubnetEvmRules":
        """Return the rules for the blocks after a block with this state."""
        return replace(self, state_after=lambda _: state) if self.config.stateful else self

    def fees_after(self, parent: AcceptedBlock) -> FeeConfig:
        """Return the figures of the fees in the block after `parent`: those of the fee manager where it is in force."""
        schedule, time = self.config.stateful, parent.header.timestamp
        if schedule.config_at(PrecompileKey.FEE_MANAGER, time) is None:
            return self.config.fees
        found = fee_config_after(schedule, self._state(parent), time).config
        # The manager takes a gas limit of any size; subnet-evm takes its lowest 64 bits.
        return found._replace(gas_limit=found.gas_limit & uint64.MAX)

    def _coinbase_after(self, parent: AcceptedBlock) -> Address:
        schedule, time = self.config.stateful, parent.header.timestamp
        if schedule.config_at(PrecompileKey.REWARD_MANAGER, time) is None:
            return self.config.coinbase
        recipient = fee_recipient_after(schedule, self._state(parent), time)
        return self.config.coinbase if recipient is None else recipient

    def _state(self, parent: AcceptedBlock) -> StateReader:
        assert self.state_after is not None, "a chain with managers has a state"
        return self.state_after(parent)

    def base_fee_after(self, parent: AcceptedBlock, timestamp: int, fraction: int = 0) -> int:
        """Return the base fee of the block after `parent`, in wei."""
        del fraction  # fees follow the seconds
        fees = self.fees_after(parent)
        if parent.number == 0:
            return fees.min_base_fee
        seconds = max(timestamp - parent.header.timestamp, 0)
        window = _window_after(parent, seconds)
        return next_base_fee(fees, parent.header.base_fee or 0, window, seconds)

    def gas_limit_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the gas limit of the block after `parent`."""
        del timestamp
        return self.fees_after(parent).gas_limit

    def blob_base_fee_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return 1 wei, the lowest price of blob gas: there are no blobs."""
        del parent, timestamp
        return MIN_BASE_FEE_PER_BLOB_GAS

    def blob_base_fee(self, block: AcceptedBlock) -> int:
        """Return the price of blob gas in a block: 1 wei."""
        del block
        return MIN_BASE_FEE_PER_BLOB_GAS

    def env_after(self, parent: AcceptedBlock, timestamp: int, fraction: int = 0) -> BlockEnv:
        """Return the environment of the block after `parent`.

        Unspecified: a base fee of more than 64 bits, which a fee manager or a genesis file may set, is executed by the
        reference engine alone.

        Raises:
            BlockRefused: The block's base fee has more than 256 bits, which no header can have; it falls with time.
        """
        gas_limit = self.gas_limit_after(parent, timestamp)
        base_fee = self.base_fee_after(parent, timestamp)
        if base_fee > MAX_BASE_FEE:
            raise BlockRefused(
                BlockReason.FEES_OUT_OF_RANGE, gas_limit=gas_limit, base_fee=base_fee
            )
        env = next_env(
            parent, self.config, timestamp=timestamp, gas_limit=gas_limit, base_fee=base_fee
        )
        env = replace(
            env,
            prev_randao=PREV_RANDAO,
            coinbase=self._coinbase_after(parent),
            milliseconds=timestamp * MILLISECONDS + fraction,
        )
        return self._with_precompiles(env, {})

    def window_after(self, parent: AcceptedBlock, timestamp: int) -> bytes:
        """Return the window of the block after `parent`, with which its extra data begins."""
        if parent.number == 0:
            return EMPTY_WINDOW
        return _window_after(parent, max(timestamp - parent.header.timestamp, 0))

    def builds_from(self, parent: AcceptedBlock, milliseconds: int) -> int:
        """Return when the delay after the parent has passed."""
        if not self.enforces_delay:
            return milliseconds
        return max(milliseconds, due(_subnet_evm(parent.header)))

    def env_of(self, block: AcceptedBlock | CandidateBlock) -> BlockEnv:
        """Return the environment in which a block was executed.

        Raises:
            BlockRefused: The results of a candidate's messages cannot be read.
        """
        header = block.header
        randao = PREV_RANDAO if header.mix_hash == ZERO_HASH else header.mix_hash
        env = replace(env_of(header, self.config), prev_randao=randao, difficulty=0)
        has_results = header.number and self._has_warp(header.timestamp)
        return self._with_precompiles(env, _results_in(header) if has_results else {})

    def _with_precompiles(self, env: BlockEnv, failed: Mapping[bytes, int]) -> BlockEnv:
        return with_precompiles(env, self.config.stateful, self.identity, failed)

    def _has_results(self, timestamp: int) -> bool:
        """Return whether headers of this time say which messages do not hold: since Durango."""
        return timestamp >= self.config.schedule.times["shanghai"]

    def _has_warp(self, timestamp: int) -> bool:
        return self.config.stateful.config_at(PrecompileKey.WARP, timestamp) is not None

    def changes_before(
        self, parent: AcceptedBlock, env: BlockEnv, state: StateReader
    ) -> StateChanges:
        """Return what precompiles do to the state that begin or end in a block."""
        return begun(self.config.stateful, parent, env, state)

    def verify_messages(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        context: BlockContext,
        claimed: CandidateBlock | None = None,
    ) -> BlockEnv:
        """Verify the warp messages in access lists, as `ChainRules.verify_messages` does.

        Raises:
            BlockRefused: The block has other results, or does not pay for its messages.
        """
        config = self.config.stateful.config_at(PrecompileKey.WARP, env.timestamp)
        if config is not None and claimed is not None and context.decided:
            return self._with_precompiles(env, _results_in(claimed.header))
        failed: Mapping[bytes, int] = {}
        if config is not None:
            assert self.identity is not None, "only chains with an ID have the warp precompile"
            if claimed is not None:
                verify_verifiable(env, transactions, context, claimed)
            access_lists = access_lists_of(transactions)
            failed = self.identity.failed(access_lists, config, context.p_chain_height)
            env = self._with_precompiles(env, failed)
        if claimed is not None and self._has_results(env.timestamp):
            have, want = claimed.header.extra_data[WINDOW_SIZE:], _results(env, transactions)
            if have != want:
                raise wrong_field(BlockReason.OTHER_RESULTS, have, want)
        return env

    def without_room(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        used: Mapping[int, int],
        *,
        has_payload: bool,
    ) -> frozenset[int]:
        """Return no transactions: the extra data has room for all results."""
        del env, transactions, used, has_payload
        return frozenset()

    def message_results(self, env: BlockEnv, transactions: Sequence[Transaction]) -> bytes:
        """Return no bytes: `assemble` makes the extra data."""
        del env, transactions
        return b""

    def unknown_parent(self, header: Header, head: Hash) -> UnknownParent:
        """Return the error of a block whose parent is neither processing nor the head."""
        return unknown_parent(header, head)

    def unreadable(self, candidate: CandidateBlock, refusal: TransactionRefused) -> InvalidBlock:
        """Return the error for a block with a transaction that this chain cannot read."""
        del candidate
        return refusal

    def verify_header(
        self, candidate: CandidateBlock, parent: AcceptedBlock, context: BlockContext
    ) -> BlockEnv:
        """Verify a header against its parent; return the environment of the block.

        Raises:
            UnknownParent: It follows another block.
            BlockRefused: It does not belong there, or a field has another value than it must have.
        """
        header = candidate.header
        verification.verify_place(header, parent, now=context.now)
        verify_delay(
            _subnet_evm(header),
            _subnet_evm(parent.header),
            has_granite=self.config.has_granite(header.timestamp),
            # The network may have decided it before its validators voted.
            is_enforced=self.enforces_delay and not context.decided,
        )
        env = self.env_after(parent, header.timestamp)
        wanted = self.window_after(parent, header.timestamp)
        # `verify_messages` compares what follows.
        has_results = self._has_results(header.timestamp)
        window = header.extra_data[:WINDOW_SIZE] if has_results else header.extra_data
        if window != wanted:
            raise wrong_field(BlockReason.WRONG_EXTRA_DATA, header.extra_data, wanted)
        # The header's own form of fields whose value in the environment differs.
        shown = replace(env, prev_randao=ZERO_HASH, difficulty=DIFFICULTY)
        verification.verify_environment(header, shown, has_withdrawals=True)
        return env

    def verify_outcome(self, candidate: CandidateBlock, made: AcceptedBlock) -> None:
        """Check that executing a candidate's transactions makes exactly the block that the candidate claims.

        Raises:
            BlockRefused: The reason names the first field that differs.
        """
        verification.verify_outcome(candidate, made)

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
        """Return the block that executing transactions in this environment makes; see `port.ChainRules.assemble`."""
        del extra_data, payload, withdrawals  # there is no extension
        # `verify_header` has verified what another node's header says of its time.
        before = _subnet_evm(parent.header)
        times = None if claimed is None else _subnet_evm(claimed.header)
        has_granite = self.config.has_granite(env.timestamp)
        if times is None:
            time: int | None = next_milliseconds(before, env.milliseconds) if has_granite else None
            excess = next_excess(before) if has_granite else None
        else:
            time, excess = times.timestamp_milliseconds, times.min_delay_excess
        results = _results(env, transactions) if self._has_results(env.timestamp) else b""
        outcomes = zip((tx.type for tx in transactions), executed.results, strict=True)
        made = make_receipts(outcomes, encode_logs=encode_logs)
        has_blobs = env.excess_blob_gas is not None
        header = SubnetEvmHeader(
            parent_hash=env.parent_hash,
            coinbase=env.coinbase,
            state_root=state_root,
            transactions_root=transactions_root(transactions, claimed, ordered_root),
            receipts_root=ordered_root(made.envelopes),
            logs_bloom=made.bloom,
            difficulty=DIFFICULTY,
            number=env.number,
            gas_limit=env.gas_limit,
            gas_used=executed.gas_used,
            timestamp=env.timestamp,
            extra_data=self.window_after(parent, env.timestamp) + results,
            mix_hash=ZERO_HASH if env.prev_randao == PREV_RANDAO else env.prev_randao,
            base_fee=env.base_fee,
            block_gas_cost=0,
            blob_gas_used=0 if has_blobs else None,
            excess_blob_gas=env.excess_blob_gas,
            parent_beacon_block_root=env.parent_beacon_block_root,
            timestamp_milliseconds=time,
            min_delay_excess=excess,
        )
        return make_block(header, tuple(transactions), made.receipts)


@dataclass(frozen=True, slots=True)
class SubnetEvmRuleSet:
    """The kind of chains with subnet-evm's rules in a network; a `port.RuleSet`."""

    upgrades: UpgradeTimes
    """The upgrades of the network."""
    state_after: StateAfterBlock | None = None
    """Returns the state after a block of the chain."""
    upgrade_file: bytes = b""
    """The operator's file that activates or deactivates precompiles later; empty: no file."""
    enforces_delay: bool = False
    """Whether blocks have to wait until the delay in their parent's header has passed."""
    name: str = SUBNET_EVM
    format: BlockFormat = SUBNET_EVM_FORMAT

    def load_genesis(self, text: bytes) -> Genesis:
        """Read a genesis file of subnet-evm. Raises GenesisFileError."""
        return load_genesis(text, self.upgrades, upgrade_file=self.upgrade_file)

    def rules(self, genesis: Genesis, identity: WarpIdentity | None) -> ChainRules:
        """Return the rules of the chain with a genesis."""
        return SubnetEvmRules(
            _config_of(genesis),
            identity=identity,
            state_after=self.state_after,
            enforces_delay=self.enforces_delay,
        )


def _subnet_evm(header: Header) -> SubnetEvmHeader:
    assert isinstance(header, SubnetEvmHeader), "a header of this format"
    return header


def _config_of(genesis: Genesis) -> SubnetEvmConfig:
    assert isinstance(genesis.config, SubnetEvmConfig)
    return genesis.config


def _window_after(parent: AcceptedBlock, seconds: int) -> bytes:
    """Return the window of the block some seconds after a parent that is not block 0."""
    header = parent.header
    window = header.extra_data[:WINDOW_SIZE].rjust(WINDOW_SIZE, b"\0")
    return next_window(window, header.gas_used, seconds)


def _results_in(header: Header) -> Mapping[bytes, int]:
    """Return by transaction the bits of messages that do not hold, from a header."""
    try:
        return parse_results(header.extra_data[WINDOW_SIZE:])
    except PredicateError as error:
        raise BlockRefused(BlockReason.RESULTS_MALFORMED, problem=error) from error


def _results(env: BlockEnv, transactions: Sequence[Transaction]) -> bytes:
    """Return the results of the messages of a block; without the warp precompile there are none."""
    warp = env.stateful.warp
    if warp is None:
        return NO_RESULTS
    return encode_results(results_of(access_lists_of(transactions), dict(warp.failed)))
