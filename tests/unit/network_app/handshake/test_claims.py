"""Signed node addresses: signing, gossip, and verification."""

import re
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_app.handshake import claims
from network_app.handshake.claims import (
    HandshakeError,
    HandshakeReason,
    SignedIP,
)
from network_app.wire.p2p_pb2 import ClaimedIpPort
from primitives import bls
from primitives.bls import Suite
from primitives.ids import NodeID
from tests.builders.nodes import NOW, PORT, node
from tests.builders.reasons import raises

IDENTITY = node(0).identity
CLAIM = node(0).claim()
STRANGER = node(1).identity


def passed_on(**changes: Any) -> ClaimedIpPort:
    message = claims.claimed_ip_port(IDENTITY.certificate_der, CLAIM)
    message.MergeFrom(ClaimedIpPort(**changes))
    return message


def test_ipv4_address_is_signed_as_mapped_ipv6() -> None:
    signed = claims.preimage(ip_address("1.2.3.4"), 0x2233, 0x445566778899AABB)

    assert signed.hex() == "00000000000000000000ffff01020304" + "2233" + "445566778899aabb"


@pytest.mark.parametrize(
    ("raw", "ip"),
    [
        ("01020304", "1.2.3.4"),
        ("00000000000000000000ffff01020304", "1.2.3.4"),
        ("20010db8000000000000000000000001", "2001:db8::1"),
        ("00000000000000000000000001020304", "::102:304"),
    ],
)
def test_an_address_is_read(raw: str, ip: str) -> None:
    assert claims.read_ip(bytes.fromhex(raw)) == ip_address(ip)


@pytest.mark.parametrize("size", [0, 3, 5, 12, 15, 17])
def test_address_of_wrong_size_is_refused(size: int) -> None:
    with raises(
        HandshakeReason.ADDRESS_SIZE,
        kind=HandshakeError,
        match=rf"^IP address has {size} bytes, neither 4 nor 16$",
    ):
        claims.read_ip(bytes(size))


@given(st.ip_addresses(), st.integers(1, 2**16 - 1), st.integers(0, 2**64 - 1))
def test_gossiped_address_round_trips(ip: Any, port: int, timestamp: int) -> None:
    claim = SignedIP(ip, port, timestamp, b"signature")
    message = claims.claimed_ip_port(IDENTITY.certificate_der, claim)
    claimed = claims.parse_claimed_ip_port(ClaimedIpPort.FromString(message.SerializeToString()))

    assert len(message.ip_addr) == 16
    assert message.tx_id == bytes(32)
    assert claimed.node_id == IDENTITY.node_id
    assert claimed.claim.signed == claim.signed
    mapped = ip.version == 6 and ip.ipv4_mapped
    assert claimed.claim == replace(claim, ip=mapped or ip)


@pytest.mark.parametrize(("number", "port"), [(1, 1), (65535, 65535), (0x10001, 1)])
def test_a_port_is_the_low_16_bits(number: int, port: int) -> None:
    assert claims.read_port(number) == port


@pytest.mark.parametrize("number", [0, 0x10000])
def test_port_zero_is_refused(number: int) -> None:
    with raises(HandshakeReason.PORT_ZERO, kind=HandshakeError, match=r"^port is 0$"):
        claims.read_port(number)


def test_the_text_has_brackets_around_an_ipv6_address() -> None:
    assert CLAIM.host_port == "192.0.2.1:9651"
    assert replace(CLAIM, ip=ip_address("2001:db8::1")).host_port == "[2001:db8::1]:9651"


def test_a_claim_is_signed_with_both_keys() -> None:
    claims.verify_tls(CLAIM, IDENTITY.certificate_der)
    claims.verify_bls(CLAIM, IDENTITY.bls_public_key)
    assert CLAIM.bls_signature == bls.sign(IDENTITY.bls_secret, CLAIM.signed, Suite.POSSESSION)


@pytest.mark.parametrize(
    "change",
    [
        {"ip": ip_address("192.0.2.2")},
        {"port": PORT + 1},
        {"timestamp": NOW + 1},
        {"tls_signature": b"", "bls_signature": None},
        {"tls_signature": CLAIM.tls_signature[:-1], "bls_signature": bytes(96)},
    ],
    ids=["ip", "port", "timestamp", "none", "others"],
)
def test_a_changed_claim_is_not_believed(change: dict[str, Any]) -> None:
    changed = replace(CLAIM, **change)
    with raises(
        HandshakeReason.WRONG_TLS_SIGNATURE,
        kind=HandshakeError,
        match=r"^signature of the address is not its node's$",
    ):
        claims.verify_tls(changed, IDENTITY.certificate_der)
    with raises(
        HandshakeReason.WRONG_BLS_SIGNATURE,
        kind=HandshakeError,
        match=r"^BLS signature of the address is not the validator's$",
    ):
        claims.verify_bls(changed, IDENTITY.bls_public_key)


def test_claim_signed_by_another_key_is_refused() -> None:
    with raises(HandshakeReason.WRONG_TLS_SIGNATURE, kind=HandshakeError):
        claims.verify_tls(CLAIM, STRANGER.certificate_der)
    with raises(HandshakeReason.WRONG_BLS_SIGNATURE, kind=HandshakeError):
        claims.verify_bls(CLAIM, STRANGER.bls_public_key)


def test_a_signature_of_the_other_suite_is_not_believed() -> None:
    other = replace(CLAIM, bls_signature=bls.sign(IDENTITY.bls_secret, CLAIM.signed))
    with raises(HandshakeReason.WRONG_BLS_SIGNATURE, kind=HandshakeError):
        claims.verify_bls(other, IDENTITY.bls_public_key)


def read(message: ClaimedIpPort, now: float) -> claims.NodeClaim:
    """Parse and verify a gossiped address."""
    claimed = claims.parse_claimed_ip_port(message)
    claimed.verify(now)
    return claimed


def test_a_claim_that_was_passed_on_is_believed_up_to_a_minute_ahead() -> None:
    claimed = read(passed_on(), NOW - 60)

    assert claimed.node_id == IDENTITY.node_id
    assert claimed.certificate_der == IDENTITY.certificate_der
    assert claimed.claim == replace(CLAIM, bls_signature=None)
    assert read(passed_on(), NOW - 59.9) == claimed
    with raises(
        HandshakeReason.SIGNED_IN_THE_FUTURE,
        kind=HandshakeError,
        match=f"^address was signed at {NOW}, but it is {NOW - 61}$",
    ):
        read(passed_on(), NOW - 60.1)


@pytest.mark.parametrize(
    ("changes", "reason", "message"),
    [
        ({"x509_certificate": b"none"}, HandshakeReason.CERTIFICATE, "malformed certificate"),
        (
            {"x509_certificate": bytes(2049)},
            HandshakeReason.CERTIFICATE,
            "certificate length is greater than 2048",
        ),
        (
            {"ip_addr": bytes(5)},
            HandshakeReason.ADDRESS_SIZE,
            "IP address has 5 bytes, neither 4 nor 16",
        ),
        ({"ip_port": 0x10000}, HandshakeReason.PORT_ZERO, "port is 0"),
        (
            {"x509_certificate": STRANGER.certificate_der},
            HandshakeReason.WRONG_TLS_SIGNATURE,
            "signature of the address is not its node's",
        ),
        (
            {"timestamp": NOW - 1},
            HandshakeReason.WRONG_TLS_SIGNATURE,
            "signature of the address is not its node's",
        ),
    ],
    ids=["certificate", "long certificate", "address", "port", "stranger", "time"],
)
def test_a_claim_that_was_changed_on_its_way_is_refused(
    changes: dict[str, Any], reason: HandshakeReason, message: str
) -> None:
    with raises(reason, kind=HandshakeError, match=f"^{re.escape(message)}$"):
        read(passed_on(**changes), NOW)


def test_claims_fail_as_handshakes_do() -> None:
    with raises(HandshakeReason.CERTIFICATE, kind=HandshakeError, match=r"^malformed certificate$"):
        claims.verify_tls(CLAIM, b"none")


@given(
    st.builds(
        ClaimedIpPort,
        x509_certificate=st.binary(max_size=100) | st.just(IDENTITY.certificate_der),
        ip_addr=st.binary(max_size=17),
        ip_port=st.integers(0, 2**32 - 1),
        timestamp=st.integers(0, 2**64 - 1),
        signature=st.binary(max_size=100),
    )
)
def test_nothing_that_is_passed_on_fails_otherwise(message: ClaimedIpPort) -> None:
    # the signature cannot be valid: some byte would have to be this node's
    with pytest.raises(HandshakeError):
        read(message, NOW)


def test_the_gossip_id_names_node_and_time() -> None:
    # sha256 of the node ID, the time as 8 bytes and 12 zeros
    node_id = NodeID(bytes(range(20)))
    assert claims.gossip_id(node_id, 1) != claims.gossip_id(node_id, 2)
    assert claims.gossip_id(node_id, 1) != claims.gossip_id(IDENTITY.node_id, 1)
