"""The rules of coreth's blocks as a `rules.port.ChainRules` (coreth.md 5 to 10, 15)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cchain_app.atomic.fees import MAX_BLOCK_GAS, gas_used
from cchain_app.blocks.accepted import AcceptedBlock, Withdrawal, make_block
from cchain_app.blocks.assembly import MIN_BASE_FEE_PER_BLOB_GAS, OrderedRoot
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import BlockRefused, TransactionRefused, unknown_parent
from cchain_app.blocks.header import Header
from cchain_app.blocks.receipt import EncodeLogs, make_receipts
from cchain_app.config import ChainConfig
from cchain_app.evm.coreth import CORETH, PREV_RANDAO
from cchain_app.evm.engine import BlockEnv, ExecutedBlock, StateChanges, StateReader
from cchain_app.precompiles.active import DURANGO_WARP_GAS, GRANITE_WARP_GAS
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.predicates import (
    AccessList,
    PredicateError,
    encode_results,
    extra_gas,
    has_predicates,
    parse_predicates,
    parse_results,
    results_of,
)
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.rules.coreth import verification
from cchain_app.rules.coreth.block import atomic_transactions
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.extension import CorethExtension
from cchain_app.rules.coreth.header import CorethHeader, ext_data_hash
from cchain_app.rules.coreth.min_delay import delay_of, excess_after
from cchain_app.rules.coreth.phases import CorethPhase, features_at, phase_at
from cchain_app.rules.coreth.verification import HeaderFees
from cchain_app.rules.coreth.votes import NO_VOTES, Votes
from cchain_app.rules.coreth.window import verify_block_fee
from cchain_app.rules.port import BlockFormat
from cchain_app.rules.precompiles import access_lists_of, begun, with_precompiles
from cchain_app.txs.codec import DecodedTransaction, decode_unsigned
from cchain_app.txs.transaction import InvalidTransaction, Transaction, intrinsic_gas
from chainvm.errors import InvalidBlock, UnknownParent
from chainvm.port import MILLISECONDS, BlockContext
from primitives.evm import ZERO_HASH, Hash
from primitives.hashing import keccak256
from primitives.upgrades import UpgradeTimes

_MOST_AWAITED_CAPACITY: Final = 15_000_000
"""Gas: with more than that a block is built."""
_ATOMIC_GAS: Final = MAX_BLOCK_GAS
"""Gas of a block's capacity that is left to its atomic transactions."""
_SENDER: Final = "invalid sender: "
"""The pool's prefix of an error of the signature."""


@dataclass(frozen=True, slots=True)
class CorethRules:
    """The rules of a C-Chain of a network of avalanchego; a `ChainRules`."""

    config: ChainConfig
    upgrades: UpgradeTimes
    format: BlockFormat
    extension: CorethExtension
    identity: WarpIdentity
    """Who the chain is to other chains."""
    votes: Votes = NO_VOTES

    def fees_after(self, parent: AcceptedBlock, milliseconds: int) -> HeaderFees:
        """Return the fee fields of the header of the block after `parent`.

        Args:
            parent: The block before.
            milliseconds: The new block's time in Unix milliseconds.
        """
        before = _coreth(parent.header)
        now = max(milliseconds, before.milliseconds)
        return verification.fees_after(before, now, self.upgrades)

    def builds_from(self, parent: AcceptedBlock, milliseconds: int) -> int | None:
        """Return when the delay after the parent has passed and there is enough capacity (coreth.md 10).

        Unspecified: this node builds no blocks before Durango, and none since Helicon.
        """
        before = _coreth(parent.header)
        time = max(milliseconds, before.milliseconds)
        if before.min_delay_excess is not None:
            time = max(time, before.milliseconds + delay_of(before.min_delay_excess))
        fees = self.fees_after(parent, time)
        missing = min(fees.gas_limit * 4 // 5, _MOST_AWAITED_CAPACITY) - fees.capacity
        if missing > 0 and fees.state is not None:
            if fees.phase >= CorethPhase.GRANITE:
                time += fees.state.milliseconds_for(missing)
            else:
                seconds = time // MILLISECONDS + fees.state.seconds_for(missing)
                time = seconds * MILLISECONDS
        phase = phase_at(self.upgrades, time // MILLISECONDS)
        return time if CorethPhase.DURANGO <= phase < CorethPhase.HELICON else None

    @property
    def pays_base_fee(self) -> bool:
        """False: the engine pays it after each transaction (`BlockEnv.variant`)."""
        return False

    @property
    def fees_follow_time(self) -> bool:
        """True: the price of gas falls with each second (ACP-176)."""
        return True

    def on(self, state: StateReader) -> "CorethRules":
        """Return the same rules: no state decides on fees."""
        del state
        return self

    def base_fee_after(
        self, parent: AcceptedBlock, timestamp: int, fraction: int = 0
    ) -> int | None:
        """Return the base fee of the block after `parent`, in wei; None before Apricot phase 3."""
        return self.fees_after(parent, timestamp * MILLISECONDS + fraction).base_fee

    def gas_limit_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the gas limit of the block after `parent`."""
        return self.fees_after(parent, timestamp * MILLISECONDS).gas_limit

    def blob_base_fee_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return 1: there are no blobs."""
        del parent, timestamp
        return MIN_BASE_FEE_PER_BLOB_GAS

    def blob_base_fee(self, block: AcceptedBlock) -> int:
        """Return 1: there are no blobs."""
        del block
        return MIN_BASE_FEE_PER_BLOB_GAS

    def env_after(self, parent: AcceptedBlock, timestamp: int, fraction: int = 0) -> BlockEnv:
        """Return the environment of the block after `parent`.

        Unspecified: a second in which the parent was made begins with the parent's time.
        """
        before = _coreth(parent.header).milliseconds
        return self.env_at(parent, max(before, timestamp * MILLISECONDS + fraction))

    def env_at(self, parent: AcceptedBlock, milliseconds: int) -> BlockEnv:
        """Return the environment of the block after `parent` at a time in Unix milliseconds."""
        fees = self.fees_after(parent, milliseconds)
        env = self._env(
            number=parent.number + 1,
            parent_hash=parent.hash,
            milliseconds=milliseconds,
            gas_limit=fees.gas_limit,
            base_fee=fees.base_fee,
            failed={},
        )
        return replace(env, capacity=fees.capacity)

    def env_of(self, block: AcceptedBlock | CandidateBlock) -> BlockEnv:
        """Return the environment in which a block was executed.

        Raises:
            BlockRefused: The results of a candidate's predicates cannot be read.
        """
        header = _coreth(block.header)
        return self._env(
            number=header.number,
            parent_hash=header.parent_hash,
            milliseconds=header.milliseconds,
            gas_limit=header.gas_limit,
            base_fee=header.base_fee,
            failed=self._results_in(header) if header.number else {},
        )

    def _env(
        self,
        *,
        number: int,
        parent_hash: Hash,
        milliseconds: int,
        gas_limit: int,
        base_fee: int | None,
        failed: Mapping[bytes, int],
    ) -> BlockEnv:
        config, timestamp = self.config, milliseconds // MILLISECONDS
        blobs = config.blob_params_at(number, timestamp)
        phase = phase_at(self.upgrades, timestamp)
        env = BlockEnv(
            fork=config.fork_at(number, timestamp),
            chain_id=config.chain_id,
            number=number,
            timestamp=timestamp,
            coinbase=config.coinbase,
            gas_limit=gas_limit,
            base_fee=base_fee,
            prev_randao=PREV_RANDAO,
            difficulty=1,
            excess_blob_gas=None if blobs is None else 0,
            blob_base_fee_update_fraction=None if blobs is None else blobs.update_fraction,
            parent_hash=parent_hash,
            parent_beacon_block_root=None if blobs is None else ZERO_HASH,
            variant=CORETH,
            coreth=features_at(phase, timestamp),
            milliseconds=milliseconds,
        )
        return with_precompiles(env, config.stateful, self.identity, failed)

    def changes_before(
        self, parent: AcceptedBlock, env: BlockEnv, state: StateReader
    ) -> StateChanges:
        """Return the changes with which the warp precompile begins, for the first block that has it."""
        return begun(self.config.stateful, parent, env, state)

    def verify_messages(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        context: BlockContext,
        claimed: CandidateBlock | None = None,
    ) -> BlockEnv:
        """Return the environment of a block that is built, with the results of its predicates.

        `verify_header` has verified those of another node's block.
        """
        if claimed is not None:
            return env
        failed = self._failed(access_lists_of(transactions), env.timestamp, context.p_chain_height)
        return with_precompiles(env, self.config.stateful, self.identity, failed)

    def without_room(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        used: Mapping[int, int],
        *,
        has_payload: bool,
    ) -> frozenset[int]:
        """Return the transactions whose gas limits do not fit into the capacity, together with those before them."""
        assert env.capacity is not None, "the environment of a new block"
        shares_capacity = env.timestamp >= self.upgrades.fortuna
        left = env.capacity - (_ATOMIC_GAS if has_payload and shares_capacity else 0)
        left -= sum(used.values())
        out = set()
        for index, transaction in enumerate(transactions):
            if index in used:
                continue
            if transaction.gas > left:
                out.add(index)
            else:
                left -= transaction.gas
        return frozenset(out)

    def message_results(self, env: BlockEnv, transactions: Sequence[Transaction]) -> bytes:
        """Return the end of a block's extra data: the results of the predicates."""
        warp = env.stateful.warp
        failed = {} if warp is None else dict(warp.failed)
        return encode_results(results_of(access_lists_of(transactions), failed))

    def unknown_parent(self, header: Header, head: Hash) -> UnknownParent:
        """Return the error of a block whose parent is neither processing nor the head."""
        reason = CorethReason.NO_PARENT.format(
            parent=header.parent_hash.hex(), height=header.number - 1
        )
        return unknown_parent(header, head, reason)

    def unreadable(self, candidate: CandidateBlock, refusal: TransactionRefused) -> InvalidBlock:
        """Return the error for a block with a transaction that this chain cannot read.

        Unspecified: the reference names an earlier transaction that cannot be executed instead.
        """
        return BlockRefused(
            CorethReason.TRANSACTION,
            index=refusal.index,
            hash=keccak256(candidate.transactions[refusal.index]).hex(),
            problem=str(refusal.__cause__).removeprefix(_SENDER),
        )

    def verify_header(
        self, candidate: CandidateBlock, parent: AcceptedBlock, context: BlockContext
    ) -> BlockEnv:
        """Verify a header against its parent; return the environment of the block.

        Raises:
            UnknownParent: It follows another block.
            BlockRefused: It breaks a rule of coreth's verification up to the execution.
            TransactionRefused: A transaction cannot be read.
        """
        header, before = _coreth(candidate.header), _coreth(parent.header)
        if header.parent_hash != parent.hash:
            raise self.unknown_parent(header, parent.hash)
        verification.verify_min_delay_excess(header, before, self.upgrades)
        verification.verify_exponents(header)
        verification.verify_time(header, before, context.milliseconds, self.upgrades)
        verification.verify_helicon(header, self.upgrades)
        fees = self.fees_after(parent, header.milliseconds)
        transactions = _decoded(candidate.transactions)
        if not context.decided:
            gas_of = self._intrinsic_gas_at(header)
            verification.verify_claimed_gas(header, transactions, fees, gas_of)
            if fees.phase >= CorethPhase.DURANGO:
                self._verify_predicates(header, transactions, context.p_chain_height, gas_of)
        self._results_in(header)  # those of a decided block are believed
        atomic = atomic_transactions(candidate.payload, fees.phase)
        verification.verify_ext_data_gas(header, atomic, fees.phase)
        self.extension.verify(candidate, context)
        verification.verify_values(header, before, fees)
        return replace(self.env_of(candidate), capacity=fees.capacity)

    def _intrinsic_gas_at(self, header: CorethHeader) -> verification.IntrinsicGas:
        """Return what computes the intrinsic gas of transactions in a block."""
        fork = self.config.fork_at(header.number, header.timestamp)
        phase = phase_at(self.upgrades, header.timestamp)
        prices = GRANITE_WARP_GAS if phase >= CorethPhase.GRANITE else DURANGO_WARP_GAS

        def gas_of(transaction: DecodedTransaction) -> int:
            gas = intrinsic_gas(transaction, fork)
            if phase < CorethPhase.DURANGO:
                return gas
            try:
                predicates = parse_predicates(transaction.access_list)
            except PredicateError as error:
                raise BlockRefused(CorethReason.PREDICATE_BYTES, problem=error) from error
            return gas + extra_gas(predicates, prices)

        return gas_of

    def _verify_predicates(
        self,
        header: CorethHeader,
        transactions: Sequence[DecodedTransaction],
        height: int | None,
        gas_of: verification.IntrinsicGas,
    ) -> None:
        for transaction in transactions:
            least = gas_of(transaction)
            if transaction.gas < least:
                raise BlockRefused(CorethReason.TRANSACTION_GAS, have=transaction.gas, want=least)
        access_lists = [(one.hash, one.access_list) for one in transactions]
        has_any = any(has_predicates(access_list) for _, access_list in access_lists)
        if has_any and height is None:
            raise BlockRefused(CorethReason.NO_PREDICATE_CONTEXT)
        phase = phase_at(self.upgrades, header.timestamp)
        have = verification.predicate_results(header, phase)
        failed = self._failed(access_lists, header.timestamp, height)
        want = encode_results(results_of(access_lists, failed))
        if have != want:
            raise BlockRefused(CorethReason.PREDICATE_RESULTS, have=have.hex(), want=want.hex())

    def _results_in(self, header: CorethHeader) -> Mapping[bytes, int]:
        """Return by transaction the bits of predicates that do not hold, from a header."""
        phase = phase_at(self.upgrades, header.timestamp)
        if phase < CorethPhase.DURANGO:
            return {}
        try:
            return parse_results(verification.predicate_results(header, phase))
        except PredicateError as error:
            raise BlockRefused(CorethReason.PREDICATE_BYTES, problem=error) from error

    def _failed(
        self,
        access_lists: Sequence[tuple[bytes, AccessList]],
        timestamp: int,
        height: int | None,
    ) -> Mapping[bytes, int]:
        """Return by transaction the bits of the predicates that do not hold at a P-Chain height."""
        config = self.config.stateful.config_at(PrecompileKey.WARP, timestamp)
        return {} if config is None else self.identity.failed(access_lists, config, height)

    verify_outcome = staticmethod(verification.verify_outcome)

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
        """Return the block that executing transactions in this environment makes, as `ChainRules.assemble` does.

        The fields of another node's header that do not depend on the execution have been verified already.
        """
        del withdrawals
        self._verify_block_fee(env, transactions, executed, payload, parent)
        outcomes = zip((tx.type for tx in transactions), executed.results, strict=True)
        made = make_receipts(outcomes, encode_logs=encode_logs)
        if claimed is None:
            root = ordered_root([tx.raw for tx in transactions])
            header = replace(
                self._new_header(env, parent, executed, payload, results=extra_data),
                transactions_root=root,
            )
        else:
            header = _coreth(claimed.header)
        header = replace(
            header,
            state_root=state_root,
            receipts_root=ordered_root(made.envelopes),
            logs_bloom=made.bloom,
            gas_used=executed.gas_used,
        )
        return make_block(header, tuple(transactions), made.receipts, payload=payload)

    def _verify_block_fee(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        executed: ExecutedBlock,
        payload: bytes | None,
        parent: AcceptedBlock,
    ) -> None:
        """Check that the block's tips cover the block gas cost, since Apricot phase 4 and before Granite.

        Raises:
            BlockRefused: They do not.
        """
        cost = self.fees_after(parent, env.milliseconds).block_gas_cost
        if not cost:
            return
        base_fee = env.base_fee or 0
        premiums = [
            (transaction.effective_tip(base_fee), result.gas_used)
            for transaction, result in zip(transactions, executed.results, strict=True)
        ]
        contribution = self.extension.contribution(payload, env)
        verify_block_fee(base_fee, cost, premiums, contribution)

    def _new_header(
        self,
        env: BlockEnv,
        parent: AcceptedBlock,
        executed: ExecutedBlock,
        payload: bytes | None,
        *,
        results: bytes,
    ) -> CorethHeader:
        """Return the header of a block of Durango or later that this node builds."""
        before, fees = _coreth(parent.header), self.fees_after(parent, env.milliseconds)
        extra_gas = sum(map(gas_used, atomic_transactions(payload, fees.phase)))
        prefix = fees.prefix
        if fees.state is not None:
            state = fees.state.consumed(executed.gas_used).consumed(extra_gas)
            wanted = self.votes.target_excess
            prefix = state.voted(state.target_excess if wanted is None else wanted).raw
        has_blob_fields = fees.phase >= CorethPhase.ETNA
        milliseconds = delay = None
        if fees.phase >= CorethPhase.GRANITE:
            milliseconds = env.milliseconds
            delay = verification.delay_excess_before(before, self.upgrades)
            if self.votes.min_delay_excess is not None:
                delay = excess_after(delay, self.votes.min_delay_excess)
        return CorethHeader(
            parent_hash=env.parent_hash,
            coinbase=env.coinbase,
            state_root=ZERO_HASH,
            transactions_root=ZERO_HASH,
            receipts_root=ZERO_HASH,
            logs_bloom=bytes(256),
            difficulty=1,
            number=env.number,
            gas_limit=env.gas_limit,
            gas_used=executed.gas_used,
            timestamp=env.timestamp,
            extra_data=prefix + results,
            ext_data_hash=ext_data_hash(payload or b""),
            base_fee=env.base_fee,
            ext_data_gas_used=extra_gas,
            block_gas_cost=fees.block_gas_cost,
            blob_gas_used=0 if has_blob_fields else None,
            excess_blob_gas=0 if has_blob_fields else None,
            parent_beacon_block_root=ZERO_HASH if has_blob_fields else None,
            time_milliseconds=milliseconds,
            min_delay_excess=delay,
        )


def _coreth(header: Header) -> CorethHeader:
    assert isinstance(header, CorethHeader), "a header of coreth's format"
    return header


def _decoded(envelopes: Sequence[bytes]) -> list[DecodedTransaction]:
    decoded = []
    for index, raw in enumerate(envelopes):
        try:
            decoded.append(decode_unsigned(raw))
        except InvalidTransaction as error:
            raise TransactionRefused(index, error) from error
    return decoded
