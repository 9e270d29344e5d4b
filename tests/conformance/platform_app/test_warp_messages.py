"""Warp messages: bytes of the reference implementation."""

from typing import Any

import pytest

from platform_app.txs import warp
from platform_app.txs.warp import RegisterL1Validator
from primitives import bls, bls_native, bls_py_ecc
from primitives.bls import Library
from primitives.warp import AddressedCall, BitSetSignature
from tests.builders.reasons import raises
from tests.conformance.pchain_vectors import cases
from tests.conformance.platform_app.views import view

SHOWN = {"conversionID": "id"}
"""Field names that differ in the vectors."""


@pytest.mark.parametrize("case", cases("warp_messages", kind="payload"))
def test_messages_of_l1s_are_read_and_written(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["bytes"])

    message = warp.parse_l1_message(raw)

    found = {SHOWN.get(name, name): shown for name, shown in view(message).items()}
    if isinstance(message, RegisterL1Validator):
        found["validationID"] = str(message.validation_id)
    assert found | {"type": type(message).__name__} == case["fields"]
    assert warp.build_l1_message(message) == raw


@pytest.mark.parametrize("case", cases("warp_messages", kind="signedMessage"))
def test_signed_messages_are_read(case: dict[str, Any]) -> None:
    signed = warp.parse_signed_message(bytes.fromhex(case["bytes"]))
    call = warp.parse_payload(signed.message.payload)

    assert signed.message.network_id == case["networkID"]
    assert str(signed.message.source_chain_id) == case["sourceChainID"]
    assert str(signed.message.message_id) == case["unsignedMessageID"]
    assert isinstance(signed.signature, BitSetSignature)
    assert signed.signature.signers.hex() == case["signers"]
    assert signed.signature.signature.hex() == case["signature"]
    assert signed.signer_count == 1
    assert isinstance(call, AddressedCall)
    assert call.source_address.hex() == case["addressedCall"]["sourceAddress"]
    assert call.payload.hex() == case["addressedCall"]["payload"]
    message = warp.parse_l1_message(call.payload)
    assert isinstance(message, RegisterL1Validator)
    assert str(message.validation_id) == case["validationID"]


@pytest.mark.parametrize("case", cases("warp_signatures", error=None))
@pytest.mark.parametrize("library", [bls_native, bls_py_ecc], ids=lambda library: library.__name__)
def test_the_named_validators_have_signed_together(
    library: Library, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bls, "_library", library)
    message, signature, named = signed_message(case)

    total = bls.aggregate_public_keys([bytes.fromhex(item["publicKey"]) for item in named])
    alone = [bls.sign(bytes.fromhex(other["secretKey"]), message) for other in named]

    assert bls.aggregate_signatures(alone) == signature
    assert bls.verify(total, message, signature)


@pytest.mark.parametrize("case", cases("warp_signatures", error="signature is invalid"))
def test_signature_of_other_validators_is_refused(case: dict[str, Any]) -> None:
    message, signature, named = signed_message(case)

    total = bls.aggregate_public_keys([bytes.fromhex(item["publicKey"]) for item in named])

    assert bls.is_signature(signature)
    assert not bls.verify(total, message, signature)


@pytest.mark.parametrize("case", cases("warp_signatures", error="no public keys"))
def test_aggregation_of_no_keys_is_refused(case: dict[str, Any]) -> None:
    _, _, named = signed_message(case)
    with raises(bls.BlsReason.NOTHING_TO_AGGREGATE, kind=bls.BlsError, match=f"^{case['error']}$"):
        bls.aggregate_public_keys(named)


def signed_message(case: dict[str, Any]) -> tuple[bytes, bytes, list[dict[str, Any]]]:
    """Return the signed message, the signature, and the validators of a case."""
    raw = bytes.fromhex(case["signedMessage"])
    signature = warp.parse_signed_message(raw).signature
    assert isinstance(signature, BitSetSignature)
    type_id_and_signers = 4 + 4 + len(signature.signers)
    message = raw[: -len(signature.signature) - type_id_and_signers]
    bits = int.from_bytes(signature.signers, "big")
    named = [one for at, one in enumerate(case["canonical"]) if bits >> at & 1]
    return message, signature.signature, named
