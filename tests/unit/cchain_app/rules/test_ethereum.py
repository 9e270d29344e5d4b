"""The rules of a chain's blocks: fees of the next block, headers, and a chain whose blocks have an extension."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.candidate import CandidateBlock, parse_block_with_payload
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.blocks.receipt import encode_logs
from cchain_app.config import parse_config
from cchain_app.evm.engine import ExecutedBlock, StateChanges
from cchain_app.feemarket import INITIAL_BASE_FEE
from cchain_app.genesis import built_in_text, load_genesis
from cchain_app.rules.ethereum import ETHEREUM_FORMAT, NO_EXTENSION, EthereumFormat, EthereumRules
from cchain_app.rules.port import BlockExtension, ChainRules
from chainvm.errors import InvalidBlock, UnknownParent
from chainvm.port import BlockContext
from primitives import rlp
from primitives.evm import Hash
from primitives.hashing import EMPTY_ROOT, keccak256
from tests.builders.accepted import accepted
from tests.builders.reasons import raises, reason_of

CONFIG = load_genesis(built_in_text("local")).config
RULES = EthereumRules(CONFIG, 30_000_000)
GWEI = 10**9
PARENT = accepted(4, base_fee=100 * GWEI, gas_used=30_000_000)
TIME = PARENT.header.timestamp + 1
CONTEXT = BlockContext(TIME)


def child(rules: ChainRules = RULES, *, payload: bytes | None = None) -> AcceptedBlock:
    """Return an empty block after PARENT."""
    env = rules.env_after(PARENT, TIME)
    nothing = ExecutedBlock(
        included=(),
        results=(),
        skipped=(),
        gas_used=0,
        changes=StateChanges(),
        requests_hash=Hash(PARENT.header.requests_hash or b""),
    )
    return rules.assemble(
        env,
        (),
        nothing,
        state_root=PARENT.header.state_root,
        ordered_root=lambda _: EMPTY_ROOT,
        encode_logs=encode_logs,
        extra_data=rules.extension.extra_data(payload),
        payload=payload,
    )


def candidate(block: AcceptedBlock, **changes: Any) -> CandidateBlock:
    """Return a block as another node reads it, with changed fields of its header."""
    changed = replace(block, header=replace(block.header, **changes))
    return parse_block_with_payload(changed.raw)


def test_the_base_fee_follows_from_the_parent() -> None:
    assert RULES.base_fee_after(PARENT, TIME) == 112_500_000_000  # a full block: an eighth more
    floor = EthereumRules(replace(CONFIG, min_base_fee=120 * GWEI), 30_000_000)
    assert floor.base_fee_after(PARENT, TIME) == 120 * GWEI
    free = EthereumRules(replace(floor.config, free_base_fee=True), 30_000_000)
    assert free.base_fee_after(PARENT, TIME) == 112_500_000_000


def test_base_fee_starts_with_london() -> None:
    forks = (
        "homestead", "eip150", "eip155", "eip158", "byzantium", "constantinople", "petersburg",
        "istanbul", "berlin",
    )  # fmt: skip
    blocks = {f"{fork}Block": 0 for fork in forks}
    rules = EthereumRules(parse_config({"chainId": 7, **blocks, "londonBlock": 6}), 30_000_000)
    since_london = (
        "base_fee", "withdrawals_root", "blob_gas_used", "excess_blob_gas",
        "parent_beacon_block_root", "requests_hash",
    )  # fmt: skip
    before = dict.fromkeys(since_london)
    assert rules.base_fee_after(accepted(4, **before), TIME) is None
    assert rules.base_fee_after(accepted(5, **before), TIME) == INITIAL_BASE_FEE
    assert rules.blob_base_fee_after(accepted(5, **before), TIME) == 1


def test_the_gas_limit_moves_towards_that_of_genesis() -> None:
    assert RULES.gas_limit_after(PARENT, TIME) == 30_000_000
    higher = EthereumRules(CONFIG, 60_000_000)
    assert higher.gas_limit_after(PARENT, TIME) == 30_000_000 + 30_000_000 // 1024 - 1


def test_a_block_has_the_environment_in_which_it_was_built() -> None:
    block = child()
    assert RULES.env_of(block) == RULES.env_after(PARENT, TIME)
    assert RULES.blob_base_fee(block) == RULES.blob_base_fee_after(PARENT, TIME) == 1
    assert block.header.base_fee == RULES.base_fee_after(PARENT, TIME)


def test_a_header_is_verified_in_order() -> None:
    block = child()
    assert RULES.verify_header(candidate(block), PARENT, CONTEXT) == RULES.env_of(block)
    wrong: dict[str, Any] = {}
    for field, value, reason in (  # from the last check to the first
        ("base_fee", 1, BlockReason.WRONG_BASE_FEE),
        ("gas_limit", 1, BlockReason.WRONG_GAS_LIMIT),
        ("extra_data", bytes(33), BlockReason.EXTRA_DATA_TOO_LONG),
        ("timestamp", TIME + 11, BlockReason.BLOCK_IN_FUTURE),
        ("number", 6, BlockReason.WRONG_NUMBER),
        ("parent_hash", Hash(bytes(32)), UnknownParent),
    ):
        wrong[field] = value
        with pytest.raises(InvalidBlock) as caught:
            RULES.verify_header(candidate(block, **wrong), PARENT, CONTEXT)
        assert reason_of(caught.value) is reason


def test_without_an_extension_a_body_has_four_items() -> None:
    block = replace(child(), payload=b"payload")
    with raises(
        BlockReason.BLOCK_ENCODING, kind=BlockRefused, match=r"expected input list for types\.Block"
    ):
        ETHEREUM_FORMAT.parse_block(block.raw)
    assert NO_EXTENSION.extra_data(None) == b""


class PayloadFormat(EthereumFormat):
    """Blocks whose body may have a payload."""

    def parse_block(self, raw: bytes) -> CandidateBlock:
        return parse_block_with_payload(raw)


class OtherPayload(InvalidBlock):
    """The extra data does not commit to the payload."""


@dataclass(frozen=True)
class HashedPayload(BlockExtension):
    """An extension whose extra data is the payload's hash."""

    least_height: int = 0
    """Payloads are valid from this P-Chain height on."""

    def extra_data(self, payload: bytes | None) -> bytes:
        return b"" if payload is None else keccak256(payload)

    def verify(self, candidate: CandidateBlock, context: BlockContext) -> None:
        if candidate.header.extra_data != self.extra_data(candidate.payload):
            raise OtherPayload("other payload")
        if candidate.payload is not None and (context.p_chain_height or 0) < self.least_height:
            raise OtherPayload("too early")


WITH_PAYLOAD = EthereumRules(CONFIG, 30_000_000, PayloadFormat(), HashedPayload(7))
AT_HEIGHT = BlockContext(TIME, 7)


@pytest.mark.parametrize("payload", [None, b"payload", b"\x01", bytes(300)])
def test_payload_is_verified_with_its_block(payload: bytes | None) -> None:
    block = child(WITH_PAYLOAD, payload=payload)
    read = WITH_PAYLOAD.format.parse_block(block.raw)
    assert (read.payload, read.hash, read.raw) == (payload, block.hash, block.raw)
    assert block.size == len(block.ethereum_raw)
    assert WITH_PAYLOAD.verify_header(read, PARENT, AT_HEIGHT) == RULES.env_of(block)
    WITH_PAYLOAD.verify_outcome(read, block)


def test_a_header_commits_to_the_payload_and_the_context_reaches_the_extension() -> None:
    block = child(WITH_PAYLOAD, payload=b"payload")
    for payload in (None, b"", b"other"):
        stripped = WITH_PAYLOAD.format.parse_block(replace(block, payload=payload).raw)
        assert stripped.hash == block.hash
        with pytest.raises(OtherPayload, match="other payload"):
            WITH_PAYLOAD.verify_header(stripped, PARENT, AT_HEIGHT)
    for context in (CONTEXT, BlockContext(TIME, 6)):
        with pytest.raises(OtherPayload, match="too early"):
            WITH_PAYLOAD.verify_header(candidate(block), PARENT, context)


def test_payload_is_one_string_after_the_withdrawals() -> None:
    block = child(WITH_PAYLOAD, payload=b"payload")
    whole = block.raw
    assert whole.endswith(b"\xc0\xc0\xc0\x87payload")
    for changed in (whole[:-8] + b"\xc7payload", _with_item(whole, b"\x01")):
        with raises(BlockReason.BLOCK_ENCODING, kind=BlockRefused):
            WITH_PAYLOAD.format.parse_block(changed)


def _with_item(block: bytes, item: bytes) -> bytes:
    body = rlp.read_only_item(block) + item
    return rlp.list_prefix(len(body)) + body
