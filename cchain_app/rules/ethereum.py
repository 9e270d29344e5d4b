"""The rules of Ethereum's blocks, as this node builds them: EIP-1559 with a floor, no extension."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from cchain_app.blocks import assembly, candidate, header, verification
from cchain_app.blocks.accepted import AcceptedBlock, make_block
from cchain_app.blocks.assembly import env_of, next_env
from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.effects import BlockEffects, PayloadPlace
from cchain_app.blocks.errors import (
    BlockReason,
    BlockRefused,
    TransactionRefused,
    unknown_parent,
    wrong_field,
)
from cchain_app.blocks.header import EMPTY_REQUESTS_HASH, Header
from cchain_app.config import ChainConfig, at_least
from cchain_app.evm.engine import BlockEnv, StateChanges, StateReader
from cchain_app.feemarket import next_base_fee, next_gas_limit
from cchain_app.genesis import Genesis
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.predicates import has_predicates
from cchain_app.precompiles.results import MOST_BITS, decode_bits, encode_bits, without_room
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.rules.port import BlockExtension, BlockFormat
from cchain_app.rules.precompiles import (
    access_lists_in,
    access_lists_of,
    begun,
    verify_verifiable,
    with_precompiles,
)
from cchain_app.txs.transaction import GAS_PER_BLOB, Transaction
from chainvm.errors import InvalidBlock, UnknownParent
from chainvm.port import BlockContext
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT


class EthereumFormat:
    """Blocks in Ethereum's layout, without uncles, withdrawals and payload; a `BlockFormat`."""

    decode_header = staticmethod(header.decode_header)
    parse_header = staticmethod(candidate.parse_header)
    parse_block: Callable[[bytes], CandidateBlock] = staticmethod(candidate.parse_block)

    def genesis_block(self, genesis: Genesis, state_root: Hash) -> AcceptedBlock:
        """Return block 0, with the header fields of the fork in force at that time."""
        fork = genesis.fork
        return make_block(
            Header(
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
                withdrawals_root=EMPTY_ROOT if at_least(fork, "shanghai") else None,
                blob_gas_used=genesis.blob_gas_used,
                excess_blob_gas=genesis.excess_blob_gas,
                parent_beacon_block_root=genesis.parent_beacon_block_root,
                requests_hash=EMPTY_REQUESTS_HASH if at_least(fork, "prague") else None,
            ),
            (),
            (),
        )


class PayloadFormat(EthereumFormat):
    """Blocks whose body may have a payload as the last item, and then withdrawals."""

    parse_block = staticmethod(candidate.parse_block_with_payload)


class NoExtension:
    """Blocks without a payload; a `BlockExtension`. Their extra data is free, up to 32 bytes."""

    acts_after: ClassVar[bool] = False

    def extra_data(self, payload: bytes | None) -> bytes:
        """Return no bytes."""
        assert payload is None, "there is no extension"
        return b""

    def verify(self, candidate: CandidateBlock, context: BlockContext) -> None:
        """Check the length of the extra data, and that there is no payload.

        Raises:
            BlockRefused: The header has more than 32 bytes of extra data, or the block has a payload.
        """
        del context
        if candidate.payload is not None:
            raise BlockRefused(BlockReason.PAYLOAD_UNEXPECTED)
        verification.verify_extra_data(candidate.header)

    def effects(self, payload: bytes, place: PayloadPlace) -> BlockEffects:
        """Refuse the payload.

        Raises:
            BlockRefused: In any case.
        """
        del payload, place
        raise BlockRefused(BlockReason.PAYLOAD_UNEXPECTED)


ETHEREUM_FORMAT: Final[BlockFormat] = EthereumFormat()
PAYLOAD_FORMAT: Final[BlockFormat] = PayloadFormat()
NO_EXTENSION: Final[BlockExtension] = NoExtension()


@dataclass(frozen=True, slots=True)
class EthereumRules:
    """The rules of a chain with Ethereum's blocks; a `ChainRules`."""

    config: ChainConfig
    gas_limit: int
    """The genesis gas limit, towards which the gas limit of blocks moves."""
    format: BlockFormat = ETHEREUM_FORMAT
    extension: BlockExtension = NO_EXTENSION
    identity: WarpIdentity | None = None
    """Who the chain is to other chains; None: it has no warp precompile."""

    assemble = staticmethod(assembly.assemble)

    def builds_from(self, parent: AcceptedBlock, milliseconds: int) -> int:
        """Return the node's time: no block has to wait after its parent."""
        del parent
        return milliseconds

    @property
    def pays_base_fee(self) -> bool:
        """False: the base fee is burned."""
        return False

    @property
    def fees_follow_time(self) -> bool:
        """False: the base fee follows from the parent alone."""
        return False

    def on(self, state: StateReader) -> "EthereumRules":
        """Return the same rules: no state decides on fees."""
        del state
        return self

    def base_fee_after(
        self, parent: AcceptedBlock, timestamp: int, fraction: int = 0
    ) -> int | None:
        """Return the base fee of the block after `parent`, in wei; None before London.

        It follows from the parent alone.
        """
        del fraction
        before = parent.header
        if before.base_fee is None and not at_least(
            self.config.fork_at(parent.number + 1, timestamp), "london"
        ):
            return None
        floor = self.config.floor_after(before.base_fee)
        return next_base_fee(before.base_fee, before.gas_used, before.gas_limit, floor)

    def gas_limit_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the gas limit of the block after `parent`: the parent's, moved towards the genesis'."""
        del timestamp
        return next_gas_limit(parent.header.gas_limit, self.gas_limit)

    def blob_base_fee_after(self, parent: AcceptedBlock, timestamp: int) -> int:
        """Return the price of blob gas in the block after `parent`, in wei; 1 before Cancun."""
        number, config = parent.number + 1, self.config
        params = config.blob_params_at(number, timestamp)
        if params is None:
            return assembly.MIN_BASE_FEE_PER_BLOB_GAS
        excess = assembly.excess_after(parent.header, params, config.fork_at(number, timestamp))
        return assembly.blob_base_fee(excess, params.update_fraction)

    def blob_base_fee(self, block: AcceptedBlock) -> int:
        """Return the price of blob gas in a block, in wei; 1 before Cancun."""
        params = self.config.blob_params_at(block.number, block.header.timestamp)
        if params is None:
            return assembly.MIN_BASE_FEE_PER_BLOB_GAS
        return assembly.blob_base_fee(block.header.excess_blob_gas or 0, params.update_fraction)

    def env_after(self, parent: AcceptedBlock, timestamp: int, fraction: int = 0) -> BlockEnv:
        """Return the environment of the block after `parent`; it is the same for every builder."""
        del fraction  # headers have whole seconds
        env = next_env(
            parent,
            self.config,
            timestamp=timestamp,
            gas_limit=self.gas_limit_after(parent, timestamp),
            base_fee=self.base_fee_after(parent, timestamp),
        )
        return with_precompiles(env, self.config.stateful, self.identity)

    def env_of(self, block: AcceptedBlock | CandidateBlock) -> BlockEnv:
        """Return the environment in which a block was executed."""
        env, data = env_of(block.header, self.config), block.header.extra_data
        failed: dict[bytes, int] = {}
        if self._has_warp(env) and data and block.payload is None:
            failed = decode_bits(data, access_lists_in(block))
        return with_precompiles(env, self.config.stateful, self.identity, failed)

    def _has_warp(self, env: BlockEnv) -> bool:
        return self.config.stateful.config_at(PrecompileKey.WARP, env.timestamp) is not None

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
            BlockRefused: The block has other results, does not pay for its messages, or has a payload and a message that does
                not hold.
        """
        access_lists = access_lists_of(transactions)
        if not any(has_predicates(access_list) for _, access_list in access_lists):
            return env
        config = self.config.stateful.config_at(PrecompileKey.WARP, env.timestamp)
        if config is None or self.identity is None:
            return env
        has_payload = claimed is not None and claimed.payload is not None
        if context.decided and claimed is not None:
            data = b"" if has_payload else claimed.header.extra_data
            failed = decode_bits(data, access_lists)
        else:
            if claimed is not None:
                verify_verifiable(env, transactions, context, claimed)
            failed = self.identity.failed(access_lists, config, context.p_chain_height)
            if claimed is not None:
                want = encode_bits(access_lists, failed)
                have = b"" if has_payload else claimed.header.extra_data
                if have != want:
                    raise wrong_field(BlockReason.OTHER_RESULTS, have, want)
        return with_precompiles(env, self.config.stateful, self.identity, failed)

    def without_room(
        self,
        env: BlockEnv,
        transactions: Sequence[Transaction],
        used: Mapping[int, int],
        *,
        has_payload: bool,
    ) -> frozenset[int]:
        """Return transactions that a block cannot contain; next to a payload there is room for no message that fails."""
        del used  # the engine knows the gas that is left
        warp = env.stateful.warp
        if warp is None or not warp.failed:
            return frozenset()
        most = 0 if has_payload else MOST_BITS
        return without_room(access_lists_of(transactions), dict(warp.failed), most=most)

    def message_results(self, env: BlockEnv, transactions: Sequence[Transaction]) -> bytes:
        """Return the bits of the block's messages; no bytes if all of them hold."""
        warp = env.stateful.warp
        if warp is None or not warp.failed:
            return b""
        return encode_bits(access_lists_of(transactions), dict(warp.failed))

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
            InvalidBlock: By the extension.
        """
        header = candidate.header
        verification.verify_place(header, parent, now=context.now)
        env = self.env_after(parent, header.timestamp)
        self.extension.verify(candidate, context)
        # The withdrawals of a payload are known after its verification: `verify_outcome` compares their root.
        verification.verify_environment(header, env, has_withdrawals=candidate.payload is not None)
        return env

    def verify_outcome(self, candidate: CandidateBlock, made: AcceptedBlock) -> None:
        """Check that executing a candidate's transactions makes exactly the block that the candidate claims.

        Raises:
            BlockRefused: The reason names the first field that differs, or the block has too many blobs.
        """
        verification.verify_outcome(candidate, made)
        header = made.header
        most = self.config.max_blobs_at(header.number, header.timestamp) * GAS_PER_BLOB
        if self.config.blob_transactions and (header.blob_gas_used or 0) > most:
            raise wrong_field(BlockReason.TOO_MUCH_BLOB_GAS, header.blob_gas_used, most)
