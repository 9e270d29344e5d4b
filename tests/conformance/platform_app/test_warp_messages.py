"""Warp messages: bytes of the reference implementation."""

from typing import Any

import pytest

from platform_app.txs import warp
from platform_app.txs.warp import AddressedCall, BitSetSignature, RegisterL1Validator
from tests.conformance.pchain_vectors import cases
from tests.conformance.platform_app.views import view

SHOWN = {"conversionID": "id"}
"""Names that differ in the vectors' view."""


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
