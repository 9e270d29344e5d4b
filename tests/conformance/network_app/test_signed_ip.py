"""Signed node addresses: vectors of the reference implementation."""

import ssl
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import pytest

from network_app.handshake import claims
from network_app.handshake.claims import SignedIP
from primitives import bls
from primitives.bls import Suite
from primitives.ids import NodeID
from tests.conformance.pchain_vectors import cases

every_claim = pytest.mark.parametrize("case", cases("p2p_signed_ip"))
CERTIFICATES = {
    case.values[0]["nodeID"]: ssl.PEM_cert_to_DER_cert(case.values[0]["certificatePEM"])
    for case in cases("node_id_from_cert", certificatePEM=...)
}


def claim_of(case: dict[str, Any]) -> SignedIP:
    return SignedIP(
        ip=ip_address(case["ip"]),
        port=case["port"],
        timestamp=case["timestamp"],
        tls_signature=bytes.fromhex(case["tlsSignature"]),
        bls_signature=bytes.fromhex(case["blsSignature"]),
    )


def bls_secret_of(case: dict[str, Any]) -> bytes:
    """Return the publicly known secret key of the local network's validator named in the case."""
    number = int(case["name"].split()[2])
    return f"AvalancheLocalNetworkValidator{number:02}".encode()


@every_claim
def test_signed_preimage_matches_the_vector(case: dict[str, Any]) -> None:
    made = claims.preimage(ip_address(case["ip"]), case["port"], case["timestamp"])

    assert made.hex() == case["preimage"]
    assert claim_of(case).signed == made


@every_claim
def test_the_bls_signature_is_made_and_believed(case: dict[str, Any]) -> None:
    secret, claim = bls_secret_of(case), claim_of(case)

    assert bls.sign(secret, claim.signed, Suite.POSSESSION) == claim.bls_signature
    claims.verify_bls(claim, bls.public_key(secret))


@pytest.mark.parametrize("case", cases("p2p_signed_ip", ip="2001:db8::1"))
def test_the_tls_signature_is_believed(case: dict[str, Any]) -> None:
    certificate, claim = CERTIFICATES[case["nodeID"]], claim_of(case)
    passed_on = claims.claimed_ip_port(certificate, claim)
    read = claims.parse_claimed_ip_port(passed_on)

    read.verify(case["timestamp"])
    claims.verify_tls(claim, certificate)
    assert str(read.node_id) == case["nodeID"]
    assert read.claim == replace(claim, bls_signature=None)


@every_claim
def test_the_gossip_id(case: dict[str, Any]) -> None:
    node_id = NodeID.parse(case["nodeID"])

    assert claims.gossip_id(node_id, case["timestamp"]).hex() == case["gossipIDHex"]
