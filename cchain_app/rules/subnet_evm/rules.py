"""The blocks of EVM chains of subnets: a `port.BlockFormat`, a `port.ChainRules` and a `port.RuleSet`.

Unspecified: the minimum time between blocks (ACP-226) is in each header and is not enforced, so that a transaction on a
lone node is mined at once; milliseconds are those of the whole second. The base fee is burned, where subnet-evm credits
it to the block's coinbase.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from cchain_app.blocks import candidate, verification
from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal, make_block
from cchain_app.blocks.assembly import MIN_BASE_FEE_PER_BLOB_GAS, OrderedRoot, env_of, next_env
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockReason, TransactionRefused, unknown_parent, wrong_field
from cchain_app.blocks.header import Header
from cchain_app.blocks.receipt import EncodeLogs, make_receipts
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, StateChanges, StateReader
from cchain_app.genesis import Genesis
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.predicates import (
    NO_RESULTS,
    PredicateError,
    encode_results,
    has_predicates,
    parse_results,
    results_of,
)
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.rules.ethereum import NO_EXTENSION
from cchain_app.rules.port import BlockExtension, BlockFormat, ChainRules
from cchain_app.rules.precompiles import access_lists_of, begun, with_precompiles
from cchain_app.rules.subnet_evm.config import SubnetEvmConfig
from cchain_app.rules.subnet_evm.fees import EMPTY_WINDOW, WINDOW_SIZE, next_base_fee, next_window
from cchain_app.rules.subnet_evm.genesis import load_genesis
from cchain_app.rules.subnet_evm.header import (
    DIFFICULTY,
    INITIAL_DELAY_EXCESS,
    SubnetEvmHeader,
    decode_header,
)
from cchain_app.txs.transaction import Transaction
from chainvm.errors import InvalidBlock, UnknownParent
from chainvm.port import BlockContext
from primitives.evm import ZERO_HASH, Hash
from primitives.hashing import EMPTY_ROOT
from primitives.upgrades import UpgradeTimes

SUBNET_EVM: Final = "subnet-evm"
"""The name of these rules in rows."""

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
            timestamp_milliseconds=1000 * genesis.timestamp if has_granite else None,
            min_delay_excess=INITIAL_DELAY_EXCESS if has_granite else None,
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

    def base_fee_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the base fee of the block after `parent`, in wei."""
        fees = self.config.fees
        if parent.number == 0:
            return fees.min_base_fee
        seconds = max(timestamp - parent.header.timestamp, 0)
        window = _window_after(parent, seconds)
        return next_base_fee(fees, parent.header.base_fee or 0, window, seconds)

    def gas_limit_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the gas limit of every block."""
        del parent, timestamp
        return self.config.fees.gas_limit

    def blob_base_fee_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the price of blob gas, of which there is none: 1 wei."""
        del parent, timestamp
        return MIN_BASE_FEE_PER_BLOB_GAS

    def blob_base_fee(self, block: AcceptedBlock) -> int:
        """Return the price of blob gas in a block: 1 wei."""
        del block
        return MIN_BASE_FEE_PER_BLOB_GAS

    def env_after(self, parent: AcceptedBlock, timestamp: int) -> BlockEnv:
        """Return the environment of the block after `parent`."""
        env = next_env(
            parent,
            self.config,
            timestamp=timestamp,
            gas_limit=self.config.fees.gas_limit,
            base_fee=self.base_fee_after(parent, timestamp),
        )
        env = replace(env, prev_randao=PREV_RANDAO)
        return with_precompiles(env, self.config.stateful, self.identity)

    def window_after(self, parent: AcceptedBlock, timestamp: int) -> bytes:
        """Return the window of the block after `parent`, with which its extra data begins."""
        if parent.number == 0:
            return EMPTY_WINDOW
        return _window_after(parent, max(timestamp - parent.header.timestamp, 0))

    def capacity_after(self, parent: AcceptedBlock, env: BlockEnv) -> int:
        """Return the gas that the transactions of the block after `parent` may use: its gas limit."""
        del parent
        return env.gas_limit

    def env_of(self, block: AcceptedBlock | CandidateBlock) -> BlockEnv:
        """Return the environment in which a block was executed."""
        header = block.header
        randao = PREV_RANDAO if header.mix_hash == ZERO_HASH else header.mix_hash
        env = replace(env_of(header, self.config), prev_randao=randao, difficulty=0)
        results = header.extra_data[WINDOW_SIZE:] if header.number else b""
        failed = _results(results) if results else {}
        return with_precompiles(env, self.config.stateful, self.identity, failed)

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
            BlockRefused: The block has other results, or bytes that are none.
        """
        have = b"" if claimed is None else claimed.header.extra_data[WINDOW_SIZE:]
        config = self.config.stateful.config_at(PrecompileKey.WARP, env.timestamp)
        access_lists = access_lists_of(transactions)
        if config is None or not any(has_predicates(found) for _, found in access_lists):
            if have:
                raise wrong_field(BlockReason.OTHER_RESULTS, have, b"")
            return env
        if context.decided and claimed is not None:
            failed = _results(have)
        else:
            assert self.identity is not None, "a chain with the warp precompile has one"
            failed = self.identity.failed(access_lists, config, context.p_chain_height)
            want = encode_results(results_of(access_lists, failed))
            if claimed is not None and have != want:
                raise wrong_field(BlockReason.OTHER_RESULTS, have, want)
        return with_precompiles(env, self.config.stateful, self.identity, failed)

    def without_room(
        self, env: BlockEnv, transactions: Sequence[Transaction], *, has_payload: bool
    ) -> frozenset[int]:
        """Return no transaction: extra data has room for all results."""
        del env, transactions, has_payload
        return frozenset()

    def message_results(self, env: BlockEnv, transactions: Sequence[Transaction]) -> bytes:
        """Return the results of the block's messages; no bytes if it has no message."""
        warp = env.stateful.warp
        found = results_of(access_lists_of(transactions), dict(warp.failed) if warp else {})
        return encode_results(found) if found and warp is not None else b""

    def unknown_parent(self, header: Header, head: Hash) -> UnknownParent:
        """Return the error of a block whose parent is neither processing nor the head."""
        return unknown_parent(header, head)

    def unreadable(self, candidate: CandidateBlock, refusal: TransactionRefused) -> InvalidBlock:
        """Return the error of a block with a transaction that is none of this chain."""
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
        env = self.env_after(parent, header.timestamp)
        wanted, window = (
            self.window_after(parent, header.timestamp),
            header.extra_data[:WINDOW_SIZE],
        )
        if window != wanted:
            raise wrong_field(BlockReason.WRONG_EXTRA_DATA, window, wanted)
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
        del payload, withdrawals  # there is no extension
        if claimed is None:
            extra_data = self.window_after(parent, env.timestamp) + extra_data
        outcomes = zip((tx.type for tx in transactions), executed.results, strict=True)
        made = make_receipts(outcomes, encode_logs=encode_logs)
        has_blobs = env.excess_blob_gas is not None
        has_granite = self.config.has_granite(env.timestamp)
        header = SubnetEvmHeader(
            parent_hash=env.parent_hash,
            coinbase=env.coinbase,
            state_root=state_root,
            transactions_root=ordered_root([tx.raw for tx in transactions]),
            receipts_root=ordered_root(made.envelopes),
            logs_bloom=made.bloom,
            difficulty=DIFFICULTY,
            number=env.number,
            gas_limit=env.gas_limit,
            gas_used=executed.gas_used,
            timestamp=env.timestamp,
            extra_data=extra_data,
            mix_hash=ZERO_HASH if env.prev_randao == PREV_RANDAO else env.prev_randao,
            base_fee=env.base_fee,
            block_gas_cost=0,
            blob_gas_used=0 if has_blobs else None,
            excess_blob_gas=env.excess_blob_gas,
            parent_beacon_block_root=env.parent_beacon_block_root,
            timestamp_milliseconds=1000 * env.timestamp if has_granite else None,
            min_delay_excess=INITIAL_DELAY_EXCESS if has_granite else None,
        )
        return make_block(header, tuple(transactions), made.receipts)


@dataclass(frozen=True, slots=True)
class SubnetEvmRuleSet:
    """The kind of chains with subnet-evm's rules in a network; a `port.RuleSet`."""

    upgrades: UpgradeTimes
    """The upgrades of the network."""
    name: str = SUBNET_EVM
    format: BlockFormat = SUBNET_EVM_FORMAT

    def load_genesis(self, text: bytes) -> Genesis:
        """Read a genesis file of subnet-evm. Raises GenesisFileError."""
        return load_genesis(text, self.upgrades)

    def rules(self, genesis: Genesis, identity: WarpIdentity | None) -> ChainRules:
        """Return the rules of the chain with a genesis."""
        return SubnetEvmRules(_config_of(genesis), identity=identity)


def _config_of(genesis: Genesis) -> SubnetEvmConfig:
    assert isinstance(genesis.config, SubnetEvmConfig)
    return genesis.config


def _results(raw: bytes) -> dict[bytes, int]:
    """Return by transaction the bits of its messages that do not hold, from those of its block.

    Raises:
        BlockRefused: The bytes are no results.
    """
    try:
        return parse_results(raw)
    except PredicateError as error:
        raise wrong_field(BlockReason.OTHER_RESULTS, raw, NO_RESULTS) from error


def _window_after(parent: AcceptedBlock, seconds: int) -> bytes:
    """Return the window of the block some seconds after a parent that is not block 0."""
    header = parent.header
    window = header.extra_data[:WINDOW_SIZE].rjust(WINDOW_SIZE, b"\0")
    return next_window(window, header.gas_used, seconds)
