"""Outer blocks and the schedule of their proposers: vectors of the reference implementation."""

from typing import Any

import pytest

from network_app.proposervm.block import (
    OuterBlock,
    OuterOptionBlock,
    SignedBlock,
    build_option,
    build_unsigned,
    encode_signed,
    parse,
)
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.errors import (
    NotAnOuterBlock,
    OuterBlockError,
    OuterBlockReason,
)
from network_app.proposervm.layout import header, verify_signature
from network_app.proposervm.windower import (
    MAX_LOOK_AHEAD_SLOTS,
    next_slot,
    proposer_at,
    window_owners,
)
from primitives.codec_errors import CodecError, CodecReason
from primitives.ids import EMPTY_NODE_ID, ID, NodeID
from tests.builders.reasons import raises
from tests.conformance.pchain_vectors import cases
from tests.conformance.xchain_vectors import cases as x_cases
from tests.conformance.xchain_vectors import document, raw_bytes
from xchain_app.blocks.block import parse_block


@pytest.mark.parametrize("case", cases("proposervm_blocks", expectedError=None))
def test_outer_blocks_are_read(case: dict[str, Any]) -> None:
    block = parse(bytes.fromhex(case["bytes"]))

    assert str(block.outer_id) == case["blockID"]
    assert fields(block) == case["fields"]
    if "proposer" in case:
        assert isinstance(block, SignedBlock)
        assert str(block.proposer or EMPTY_NODE_ID) == case["proposer"]


@pytest.mark.parametrize("case", cases("proposervm_blocks", fields=...))
def test_outer_blocks_are_written(case: dict[str, Any]) -> None:
    assert written(case["fields"]).hex() == case["bytes"]


@pytest.mark.parametrize("case", cases("proposervm_blocks", signatureValid=True))
def test_signatures_are_verified_with_the_certificate(case: dict[str, Any]) -> None:
    found = case["fields"]
    certificate, signature = (
        bytes.fromhex(found["certificateDER"]),
        bytes.fromhex(found["signature"]),
    )
    message = header(
        ID.parse(case["chainID"]), ID.parse(found["parentID"]), ID.parse(case["blockID"])
    )

    assert message.hex() == case["headerBytes"]
    verify_signature(certificate, message, signature)
    with raises(
        OuterBlockReason.WRONG_SIGNATURE,
        kind=OuterBlockError,
        match=f"^invalid signature of {case['proposer']}$",
    ):
        verify_signature(certificate, message[:-1] + b"!", signature)


def test_an_epoch_of_zeros_is_refused() -> None:
    (case,) = cases("proposervm_blocks", expectedError="errZeroEpoch")
    with raises(
        OuterBlockReason.ZERO_EPOCH, kind=OuterBlockError, match=r"^epoch must not be zero$"
    ):
        parse(bytes.fromhex(case.values[0]["bytes"]))


def test_random_bytes_are_refused_as_outer_block() -> None:
    (case,) = cases("proposervm_blocks", expectedError="codec.ErrUnknownVersion")
    with raises(
        OuterBlockReason.OTHER_LAYOUT, kind=NotAnOuterBlock, match=r"^unknown codec version$"
    ) as caught:
        parse(bytes.fromhex(case.values[0]["bytes"]))
    cause = caught.value.values["cause"]
    assert isinstance(cause, CodecError)
    assert cause.reason is CodecReason.UNKNOWN_VERSION


@pytest.mark.parametrize("case", cases("proposer_schedule", rule="Durango"))
def test_the_proposer_of_a_slot_is_drawn(case: dict[str, Any]) -> None:
    chain_id, validators = ID(bytes.fromhex(case["chainID"])), weights(case)

    for slot, expected in case["expectedProposers"].items():
        drawn = proposer_at(chain_id, case["height"], int(slot), validators)
        assert drawn == NodeID(bytes.fromhex(expected)), slot


@pytest.mark.parametrize("case", cases("proposer_schedule", rule="Durango"))
def test_a_proposer_finds_its_next_slot(case: dict[str, Any]) -> None:
    chain_id, validators = ID(bytes.fromhex(case["chainID"])), weights(case)
    expected = {
        int(slot): NodeID(bytes.fromhex(x)) for slot, x in case["expectedProposers"].items()
    }

    for slot in sorted(expected):
        found = next_slot(chain_id, case["height"], expected[slot], validators, first=slot)
        assert found == slot
        earlier = next_slot(
            chain_id,
            case["height"],
            expected[slot],
            validators,
            first=max(slot - MAX_LOOK_AHEAD_SLOTS, 0),
        )
        assert earlier is not None
        assert earlier <= slot


@pytest.mark.parametrize("case", cases("proposer_schedule", rule="pre-Durango"))
def test_the_owners_of_windows_are_drawn(case: dict[str, Any]) -> None:
    owners = window_owners(
        ID(bytes.fromhex(case["chainID"])), case["height"], weights(case), case["maxWindows"]
    )
    assert [owner.hex() for owner in owners] == case["proposers"]


def weights(case: dict[str, Any]) -> dict[NodeID, int]:
    return {NodeID(bytes.fromhex(entry["nodeID"])): entry["weight"] for entry in case["validators"]}


def fields(block: OuterBlock) -> dict[str, Any]:
    """Return a block in the format of the vectors."""
    if isinstance(block, OuterOptionBlock):
        return {"typeID": block.kind, "parentID": str(block.parent_id), "block": block.inner.hex()}
    assert isinstance(block, SignedBlock)
    epoch = block.epoch
    return {
        "typeID": block.kind,
        "parentID": str(block.parent_id),
        "timestamp": block.time,
        "pChainHeight": block.p_chain_height,
        "certificateDER": block.certificate.hex(),
        "block": block.inner.hex(),
        "epoch": epoch
        and {
            "pChainHeight": epoch.p_chain_height,
            "number": epoch.number,
            "startTime": epoch.start_time,
        },
        "signature": block.signature.hex(),
    }


def written(shown: dict[str, Any]) -> bytes:
    """Return the bytes of a block in the format of the vectors."""
    parent_id, inner = ID.parse(shown["parentID"]), bytes.fromhex(shown["block"])
    if shown["typeID"] == 1:
        return build_option(parent_id, inner).raw
    epoch = shown["epoch"]
    head = (
        parent_id,
        shown["timestamp"],
        shown["pChainHeight"],
        epoch and Epoch(epoch["pChainHeight"], epoch["number"], epoch["startTime"]),
        inner,
    )
    if not shown["certificateDER"]:
        return build_unsigned(*head).raw
    return encode_signed(
        *head,
        certificate=bytes.fromhex(shown["certificateDER"]),
        signature=bytes.fromhex(shown["signature"]),
    )


X_GENESIS = document("genesis")["cases"][0]


@pytest.mark.parametrize("case", x_cases("network_outer_blocks"))
def test_outer_blocks_of_a_recorded_x_chain(case: dict[str, Any]) -> None:
    block = parse(raw_bytes(case["outer"]))

    assert str(block.outer_id) == case["outerID"]
    assert block.inner == raw_bytes(case["inner"])
    inner = parse_block(block.inner)
    assert (str(inner.block_id), inner.height) == (case["innerID"], case["height"])
    assert isinstance(block, SignedBlock)
    assert bool(block.certificate) == (inner.height > 1)  # the first one's parent has no time
    if block.certificate:
        message = header(ID.parse(X_GENESIS["chainID"]), block.parent_id, block.outer_id)
        verify_signature(block.certificate, message, block.signature)
