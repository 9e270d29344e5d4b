"""Claims of uptimes, which a node of a subnet's chain signs if it has seen at least as much (ACP-118, etna.md 12.5)."""

import pytest

from chaindb.wakeup import Wakeup
from network_app.chains.signing import EvmSigner
from network_app.ports import SignatureRefused
from network_app.wire.sdk_pb2 import SignatureRequest, SignatureResponse
from nodeproject.apps import this_node
from primitives import bls
from primitives.ids import ID
from primitives.warp import AddressedCall, UnsignedMessage, build_payload
from primitives.warp_uptime import ValidatorUptime, build_uptime, parse_uptime
from tests.integration.conftest import Chain
from tests.integration.platform_app.conftest import PChain, nothing_remembered, pchain

__all__ = ["nothing_remembered", "pchain"]

pytestmark = pytest.mark.node_settings(mining="manual", warp=True)

KNOWN, UNKNOWN = ID(bytes([1]) * 32), ID(bytes([2]) * 32)


@pytest.fixture
def chain(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> Chain:
    """An EVM chain on a network whose only validator is this node."""
    monkeypatch.setattr(Wakeup, "request", lambda _wakeup: None)
    return Chain()


def asked(chain: Chain, call: AddressedCall) -> bytes:
    """Return the signature of a message by a node that has seen one validator for 80 seconds."""
    message = UnsignedMessage(12345, chain.evm.blockchain_id, build_payload(call))
    request = SignatureRequest(message=message.raw).SerializeToString()
    signer = EvmSigner(
        chain.evm, this_node().network.identity.bls_secret, {KNOWN: 80}.get
    )  # fmt: skip
    signature = SignatureResponse.FromString(signer.sign(request)).signature
    assert bls.verify(this_node().network.identity.bls_public_key, message.raw, signature)
    return signature


def claim(validation_id: ID, seconds: int) -> AddressedCall:
    return AddressedCall(b"", build_uptime(ValidatorUptime(validation_id, seconds)))


def test_the_bytes_of_a_claim() -> None:
    raw = bytes(6) + bytes(KNOWN) + (80).to_bytes(8, "big")
    assert build_uptime(ValidatorUptime(KNOWN, 80)) == raw
    assert parse_uptime(raw) == ValidatorUptime(KNOWN, 80)


def test_what_was_seen_is_signed(chain: Chain) -> None:
    assert asked(chain, claim(KNOWN, 80)) != asked(chain, claim(KNOWN, 0))


def test_other_claims_are_refused_in_the_references_words(chain: Chain) -> None:
    cases = [
        (claim(KNOWN, 81), 2, f"current uptime 80 is less than queried uptime 81 for validationID {KNOWN}"),
        (claim(UNKNOWN, 0), 2, f"failed to get uptime: validationID not found: {UNKNOWN}"),
        (
            AddressedCall(b"\1", claim(KNOWN, 1).payload), 2,
            "source address should be empty for offchain addressed messages",
        ),
        (AddressedCall(b"", b"\0\0"), 1, "failed to parse addressed call message: "),
        (AddressedCall(b"", bytes(5) + b"\1"), 1, "failed to parse addressed call message: "),
    ]  # fmt: skip
    for call, code, words in cases:
        with pytest.raises(SignatureRefused) as refused:
            asked(chain, call)
        assert (refused.value.code, str(refused.value)[: len(words)]) == (code, words)
