"""Invalid blocks of other nodes: each is rejected with its own error class and message."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from chainvm.errors import InvalidBlock, UnknownParent
from platform_app.apps import platform_chain
from platform_app.blocks import block as codec
from platform_app.blocks.block import (
    ApricotAtomicBlock,
    ApricotCommitBlock,
    ApricotProposalBlock,
    ApricotStandardBlock,
    BanffAbortBlock,
    BanffCommitBlock,
    Block,
    build_options,
    build_proposal,
    build_standard,
)
from platform_app.blocks.errors import InvalidPlatformBlock, PlatformBlockReason
from platform_app.config import DAY
from platform_app.executor.errors import TxStateReason, moment
from platform_app.selectors import stakers
from platform_app.services.vm import parse_block
from platform_app.txs.codec import build as build_tx
from platform_app.txs.staking import RewardValidatorTx
from primitives.codec_errors import CodecError, CodecReason
from tests.builders import platform
from tests.builders.reasons import raises
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import node, staker_of, validator
from tests.integration.platform_app.produced import MUCH_LATER, Producer, follow, refusal, standard
from tests.searching import cases


def test_a_gap_before_the_first_block(pchain: PChain, rewarded: list[Block]) -> None:
    transfer, proposal, option = rewarded

    refused = refusal(pchain, proposal, option)

    assert type(refused) is UnknownParent
    tip = platform_chain().tip().block_id
    assert str(refused) == f"unexpected parent: expected {tip} but got {transfer.block_id}"


def test_one_bad_block_refuses_those_before_it(pchain: PChain, rewarded: list[Block]) -> None:
    transfer, *_ = rewarded
    bad = build_standard(parent_id=transfer.block_id, height=9, time=transfer.time or 0, txs=())

    refused = refusal(pchain, transfer, bad)

    assert refused.reason is PlatformBlockReason.WRONG_HEIGHT
    assert str(refused) == "incorrect block height expected 3, but found 9"


def test_a_block_in_which_nothing_happens(pchain: PChain) -> None:
    refused = refusal(pchain, standard(pchain))

    assert refused.reason is PlatformBlockReason.NO_STATE_CHANGES
    assert str(refused) == "BanffStandardBlock performs no state changes"


def test_times_that_cannot_be(pchain: PChain) -> None:
    tx, tip = pchain.make(), platform_chain().tip()

    early = refusal(pchain, standard(pchain, tx, after=-1))
    late = refusal(pchain, standard(pchain, tx, time=pchain.now + 11))
    endless = refusal(pchain, standard(pchain, tx, time=2**64 - 1))
    pchain.now += MUCH_LATER
    leaping = refusal(pchain, standard(pchain, tx, after=MUCH_LATER))

    assert early.reason is PlatformBlockReason.TIME_BEFORE_CHAIN
    assert early.values["time"] == moment(tip.timestamp - 1)
    assert late.reason is endless.reason is PlatformBlockReason.TIME_TOO_FAR_AHEAD
    assert str(late) == (
        "proposed timestamp is too far in the future relative to local time, "
        "proposed time (2023-11-14 22:13:31 +0000 UTC), local time (2023-11-14 22:13:20 +0000 UTC)"
    )
    assert leaping.reason is PlatformBlockReason.TIME_AFTER_STAKER_CHANGE
    pchain.now -= MUCH_LATER
    follow(pchain, standard(pchain, tx, time=pchain.now + 10))


def test_a_transaction_that_the_rules_refuse(pchain: PChain) -> None:
    unfunded = platform.signed(inputs=platform.spend_all(platform.utxo()))

    refused = refusal(pchain, standard(pchain, pchain.make(), unfunded))

    assert refused.reason is PlatformBlockReason.REFUSED_TX
    assert refused.values["tx_id"] == unfunded.tx_id
    assert str(refused).startswith(f"standard tx {unfunded.tx_id} failed execution: ")


def test_the_same_transaction_once_more(pchain: PChain) -> None:
    tx = pchain.make()
    first = standard(pchain, tx)
    second = standard(pchain, tx, parent_id=first.block_id, height=2)

    refused = refusal(pchain, first, second)

    assert refused.reason is PlatformBlockReason.REFUSED_TX
    assert refused.values["tx_id"] == tx.tx_id


def test_a_proposal_that_is_not_due(pchain: PChain, rewarded: list[Block]) -> None:
    tip = platform_chain().tip()
    (due,) = (
        item
        for item in stakers.current_validators(platform_chain()).validators
        if item.node_id == node("node")
    )
    proposal = build_proposal(
        parent_id=tip.block_id,
        height=tip.height + 1,
        time=tip.timestamp,
        proposal=build_tx(RewardValidatorTx(due.tx_id), ()),
    )

    refused = refusal(pchain, proposal, build_options(proposal)[0])

    assert refused.reason is PlatformBlockReason.REFUSED_PROPOSAL
    assert refused.values["cause"].reason is TxStateReason.STAKER_NOT_DUE


def made(cls: type[Block], **fields: Any) -> Block:
    """Make a block of any kind."""
    return codec._build(cls, **fields)


def test_option_of_another_proposal_is_refused(pchain: PChain, rewarded: list[Block]) -> None:
    transfer, proposal, option = rewarded
    place = {"parent_id": proposal.block_id, "height": 4, "time": option.time}

    def refused(cls: type[Block] = BanffCommitBlock, **changes: Any) -> Exception:
        return refusal(pchain, transfer, proposal, made(cls, **{**place, **changes}))

    late = refused(time=proposal.time + 1)  # type: ignore[operator]
    foreign = refused(parent_id=transfer.block_id)
    high = refused(cls=BanffAbortBlock, height=5)
    old = refusal(
        pchain, transfer, proposal,
        made(ApricotCommitBlock, parent_id=proposal.block_id, height=4),
    )  # fmt: skip
    decision = refused(cls=codec.BanffStandardBlock, txs=())

    assert late.reason is PlatformBlockReason.OPTION_TIME_DIFFERS
    assert str(late).startswith("option block proposed timestamp not matching parent block one ")
    assert type(foreign) is UnknownParent
    assert str(foreign) == (
        f"unexpected parent: expected {proposal.block_id} but got {transfer.block_id}"
    )
    assert high.reason is PlatformBlockReason.WRONG_HEIGHT
    assert old.reason is PlatformBlockReason.APRICOT_AFTER_FORK
    assert decision.reason is PlatformBlockReason.NO_PROPOSAL
    assert str(decision) == "option blocks follow proposal blocks, and nothing else does"


def test_an_option_without_its_proposal(pchain: PChain, rewarded: list[Block]) -> None:
    transfer, proposal, option = rewarded
    follow(pchain, transfer)

    assert type(refusal(pchain, option)) is UnknownParent
    loose = made(BanffCommitBlock, parent_id=transfer.block_id, height=3, time=transfer.time)
    assert refusal(pchain, loose).reason is PlatformBlockReason.NO_PROPOSAL
    assert type(refusal(pchain, proposal, option, option)) is UnknownParent


@pytest.mark.parametrize(
    ("cls", "fields"),
    [
        (ApricotStandardBlock, {"txs": ()}),
        (ApricotProposalBlock, {"proposal": platform.signed(RewardValidatorTx, keys=[])}),
    ],
)
def test_kinds_from_before_the_fork(pchain: PChain, cls: type[Block], fields: Any) -> None:
    tip = platform_chain().tip()
    block = made(cls, parent_id=tip.block_id, height=1, **fields)

    refused = refusal(pchain, parse_block(block.raw))

    assert refused.reason is PlatformBlockReason.APRICOT_AFTER_FORK
    assert str(refused) == (
        "apricot block issued after fork: timestamp = 2023-11-14 22:13:20 +0000 UTC"
    )


def test_an_atomic_block(pchain: PChain) -> None:
    embedded = codec.embed(pchain.make())
    head = made(
        ApricotStandardBlock, parent_id=platform_chain().tip().block_id, height=1, txs=()
    ).raw
    raw = head[:2] + ApricotAtomicBlock.TYPE_ID.to_bytes(4, "big") + head[6:-4] + embedded

    assert refusal(pchain, parse_block(raw)).reason is PlatformBlockReason.APRICOT_AFTER_FORK


def test_apricot_option_without_proposal_is_refused(pchain: PChain) -> None:
    block = made(ApricotCommitBlock, parent_id=platform_chain().tip().block_id, height=1)

    assert refusal(pchain, block).reason is PlatformBlockReason.NO_PROPOSAL


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda raw: b"", CodecReason.MISSING_VERSION),
        (lambda raw: raw + b"\0", CodecReason.TRAILING_BYTES),
        (lambda raw: raw[:2] + b"\0\0\0\x63" + raw[6:], CodecReason.UNKNOWN_TYPE_ID),
        (lambda raw: raw + bytes(256 * 1024), CodecReason.INPUT_TOO_LARGE),
    ],
)
def test_malformed_block_is_refused(
    pchain: PChain, change: Callable[[bytes], bytes], reason: CodecReason
) -> None:
    raw = standard(pchain, pchain.make()).raw

    with raises(
        PlatformBlockReason.UNREADABLE_BLOCK,
        kind=InvalidPlatformBlock,
        match=r"^failed to parse block: ",
    ) as refused:
        parse_block(change(raw))

    cause = refused.value.values["cause"]
    assert isinstance(cause, CodecError)
    assert cause.reason is reason
    assert str(refused.value) == f"failed to parse block: {cause}"


OTHER_OPTION = (1, 5, 0)
"""The bit that turns Abort into Commit, or the reverse: both are valid, votes choose."""


@settings(
    max_examples=cases(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_block_with_changed_bytes_is_refused_and_changes_nothing(
    pchain: PChain, two_blocks: tuple[bytes, bytes], data: st.DataObject
) -> None:
    raws = list(two_blocks)
    which = data.draw(st.integers(0, len(raws) - 1))
    place = data.draw(st.integers(0, len(raws[which]) - 1))
    bit = data.draw(st.integers(0, 7))
    assume((which, place, bit) != OTHER_OPTION)
    changed = bytearray(raws[which])
    changed[place] ^= 1 << bit
    raws[which] = bytes(changed)

    with pytest.raises(InvalidBlock):
        follow(pchain, *(parse_block(raw) for raw in raws))

    assert platform_chain().tip().height == 1


@pytest.fixture
def two_blocks(pchain: PChain) -> tuple[bytes, bytes]:
    """A proposal with a transfer in it, and its option; not accepted by this node."""
    tx = pchain.do(validator(pchain, "node", end=30 * DAY))
    producer = Producer(pchain)
    pchain.issue(pchain.make())
    pchain.now = staker_of(tx).end_time
    pchain.build()
    proposal, option, *_ = producer.hand_over()
    assert proposal.txs
    return proposal.raw, option.raw
