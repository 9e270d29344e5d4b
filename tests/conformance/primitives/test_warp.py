"""Warp messages: their bytes, and the signatures of a subnet's validators, as the reference has them (etna.md 7)."""

import json
from pathlib import Path
from typing import Any

import pytest

from primitives import warp
from primitives.codec_errors import CodecError
from primitives.ids import ID
from primitives.warp import AddressedCall, UnsignedMessage, WarpError, canonical_set

VECTORS = Path(__file__).parents[2] / "vectors" / "etna"


def cases(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text())["cases"]
    return found


def named(name: str, *kinds: str) -> list[Any]:
    chosen = [case for case in cases(name) if not kinds or case["type"] in kinds]
    return [pytest.param(case, id=f"{case['id']} {case['name']}") for case in chosen]


@pytest.mark.parametrize("case", named("warp_signatures"))
def test_signatures_are_verified_as_the_reference_does(case: dict[str, Any]) -> None:
    validators = canonical_set(
        (
            None if item["publicKey"] is None else bytes.fromhex(item["publicKey"]),
            item["weight"],
        )
        for item in case["validators"]
    )
    assert [(key.hex(), weight) for key, weight in validators.validators] == [
        (item["publicKey"], item["weight"]) for item in case["canonical"]
    ]
    assert validators.total_weight == case["totalWeight"]
    raw = bytes.fromhex(case["signedMessage"])

    def verify() -> None:
        signed = warp.parse_signed(raw)
        bits = int.from_bytes(signed.bits.signers, "big")
        assert warp.build_signed(signed.message, bits, signed.bits.signature) == raw
        warp.verify_message(
            signed,
            case["networkID"],
            validators,
            numerator=case["quorumNumerator"],
            denominator=case["quorumDenominator"],
        )

    if "error" in case:
        with pytest.raises(WarpError) as refused:
            verify()
        assert str(refused.value) == case["error"]
    else:
        verify()


@pytest.mark.parametrize("case", named("warp_payloads", "UnsignedMessage"))
def test_messages_are_read_and_written(case: dict[str, Any]) -> None:
    message = warp.parse_unsigned(bytes.fromhex(case["bytes"]))

    assert message == UnsignedMessage(
        case["networkID"], ID.parse(case["sourceChainID"]), bytes.fromhex(case["payload"])
    )
    assert message.raw.hex() == case["bytes"]
    assert str(message.message_id) == case["messageID"]


@pytest.mark.parametrize("case", named("warp_payloads", "AddressedCall"))
def test_addressed_calls_are_read_and_written(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["bytes"]) + bytes(case.get("zerosAfter", 0))
    if "error" in case:
        with pytest.raises(CodecError) as refused:
            warp.parse_payload(raw)
        assert str(refused.value).endswith(case["error"])
        return
    call = warp.parse_payload(raw)

    assert call == AddressedCall(
        bytes.fromhex(case["sourceAddress"]), bytes.fromhex(case["payload"])
    )
    assert warp.build_payload(call) == raw
