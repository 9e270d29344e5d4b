"""The first message of a peer: each of its rules in p2p.md 4."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.bloom import EMPTY, BloomFilter, SaltedBloom
from network_app.handshake import claims
from network_app.handshake.handshake import PROTOCOL, PeerVersionInfo, check, make, read_filter
from network_app.wire.framing import PREFIX, decode, encode
from network_app.wire.p2p_pb2 import BloomFilter as FilterMessage
from network_app.wire.p2p_pb2 import Client, GetPeerList, Handshake, Message
from primitives.ids import ID, PRIMARY_NETWORK_ID
from tests.builders.nodes import NOW, node
from tests.builders.reasons import raises
from tests.builders.wire import message_of_kind
from tests.searching import cases

NETWORK = 12345
PEER = node(0).identity
CLAIM = node(0).claim()
OTHER = node(1)
SUBNET = ID(b"\x01" * 32)
LATER_SUBNET = ID(b"\x02" * 32)
IDENTITY_SIGNATURE = b"\xc0" + bytes(95)


def told(**changes: Any) -> Handshake:
    """Return the peer's handshake with the changes: a value, or None to remove a field."""
    message = make(
        network_id=NETWORK,
        now=NOW,
        claim=CLAIM,
        tracked_subnets=[],
        known_peers=(bytes(EMPTY), b""),
        all_subnets=False,
        upgrade_time=NOW - 1000,
    )
    for name, value in changes.items():
        message.ClearField(name)  # type: ignore[arg-type]
        if value is not None:
            message.MergeFrom(Handshake(**{name: value}))
    return message


def checked(handshake: Handshake, **conditions: Any) -> PeerVersionInfo:
    defaults = {
        "certificate_der": PEER.certificate_der,
        "network_id": NETWORK,
        "now": NOW,
        "validator_key": PEER.bls_public_key,
    }
    return check(handshake, **(defaults | conditions))


def refused(reason: claims.HandshakeReason, message: str) -> Any:
    return raises(reason, kind=claims.HandshakeError, match=f"^{re.escape(message)}$")


def test_own_handshake_passes_verification() -> None:
    known = SaltedBloom(expected=128, target_rate=0.001, max_rate=0.01)
    known.add(SUBNET)
    handshake = make(
        network_id=NETWORK,
        now=NOW + 0.9,
        claim=CLAIM,
        tracked_subnets=[LATER_SUBNET, SUBNET],
        known_peers=known.marshal(),
        all_subnets=True,
        upgrade_time=77,
        supported_acps=[236, 23],
        objected_acps=[77],
    )
    sent = decode(encode(Message(handshake=handshake))[PREFIX:]).handshake

    assert handshake.my_time == NOW
    assert checked(sent, debated_acps={23, 77, 236}) == PeerVersionInfo(
        version=PROTOCOL,
        claim=CLAIM,
        tracked_subnets=(SUBNET, LATER_SUBNET),
        supported_acps=(23, 236),
        objected_acps=(77,),
        upgrade_time=77,
        known_peers=known.finished(),
        all_subnets=True,
    )


def test_rule_1_the_network_is_ours() -> None:
    with refused(claims.HandshakeReason.WRONG_NETWORK, "network ID 1 is not ours, 12345"):
        checked(told(network_id=1))


@pytest.mark.parametrize("apart", [-60, 60])
def test_rule_2_clocks_differ_by_a_minute_at_most(apart: int) -> None:
    further = apart + (1 if apart > 0 else -1)

    checked(told(my_time=NOW + apart))
    with refused(
        claims.HandshakeReason.CLOCKS_DIFFER,
        f"peer's clock says {NOW + further}, ours {NOW}: too far apart",
    ):
        checked(told(my_time=NOW + further))


def test_rule_2_the_tolerance_is_a_setting() -> None:
    checked(told(my_time=NOW + 90), clock_tolerance=90)
    with raises(claims.HandshakeReason.CLOCKS_DIFFER, kind=claims.HandshakeError):
        checked(told(my_time=NOW + 91), clock_tolerance=90)


def test_rule_3_at_most_16_subnets_are_tracked() -> None:
    subnets = [bytes([number]) * 32 for number in range(17)]

    # the first is the Primary Network, which is always included
    assert checked(told(tracked_subnets=subnets[:16])).tracked_subnets == tuple(subnets[1:16])
    with refused(claims.HandshakeReason.TOO_MANY_SUBNETS, "peer tracks 17 subnets, more than 16"):
        checked(told(tracked_subnets=subnets))


@pytest.mark.parametrize("size", [0, 31, 33])
def test_rule_3_a_subnet_has_32_bytes(size: int) -> None:
    with refused(
        claims.HandshakeReason.SUBNET_ID_SIZE, f"tracked subnet ID has {size} bytes, not 32"
    ):
        checked(told(tracked_subnets=[SUBNET, bytes(size)]))


def test_rule_3_a_subnet_counts_once() -> None:
    facts = checked(told(tracked_subnets=[SUBNET, PRIMARY_NETWORK_ID, SUBNET]))

    assert facts.tracked_subnets == (SUBNET,)


def test_rule_4_opinions_do_not_conflict() -> None:
    with refused(
        claims.HandshakeReason.CONFLICTING_OPINIONS, "peer supports and objects to ACP 23"
    ):
        checked(told(supported_acps=[77, 23], objected_acps=[23, 77, 5]), debated_acps={5, 23, 77})


def test_rule_4_unknown_acps_are_ignored() -> None:
    handshake = told(supported_acps=[23, 77, 23], objected_acps=[23, 5])
    facts = checked(handshake, debated_acps={5, 77})

    assert facts.supported_acps == (77,)
    assert facts.objected_acps == (5,)
    assert checked(handshake).supported_acps == ()


def test_rule_5_known_peers_are_optional() -> None:
    assert checked(told(known_peers=None)).known_peers == EMPTY


@pytest.mark.parametrize(
    ("known", "message"),
    [
        (FilterMessage(), "known peers: bloom filter has 0 hashes, not 1 to 16"),
        (FilterMessage(filter=b"\x01" + bytes(8)), "known peers: bloom filter has no entries"),
        (
            FilterMessage(filter=bytes(EMPTY), salt=bytes(33)),
            "known peers: bloom filter has a salt of 33 bytes, more than 32",
        ),
    ],
    ids=["empty", "no entries", "salt"],
)
def test_rule_5_known_peers_are_a_filter(known: FilterMessage, message: str) -> None:
    with refused(claims.HandshakeReason.KNOWN_PEERS, message):
        checked(told(known_peers=known))


def test_the_filter_of_a_later_request_may_not_be_absent() -> None:
    sent = FilterMessage(filter=bytes(EMPTY), salt=b"salt")

    assert read_filter(GetPeerList(known_peers=sent).known_peers) == BloomFilter(
        EMPTY.seeds, EMPTY.entries, b"salt"
    )
    with raises(claims.HandshakeReason.KNOWN_PEERS, kind=claims.HandshakeError):
        read_filter(GetPeerList().known_peers)


@pytest.mark.parametrize("size", [0, 5, 15])
def test_rule_6_the_address_has_4_or_16_bytes(size: int) -> None:
    with refused(
        claims.HandshakeReason.ADDRESS_SIZE, f"IP address has {size} bytes, neither 4 nor 16"
    ):
        checked(told(ip_addr=bytes(size)))


@pytest.mark.parametrize("port", [0, 0x20000])
def test_rule_6_the_port_is_not_0(port: int) -> None:
    with refused(claims.HandshakeReason.PORT_ZERO, "port is 0"):
        checked(told(ip_port=port))


def test_rule_6_ipv4_mapped_address_is_accepted() -> None:
    mapped = bytes(10) + b"\xff\xff" + CLAIM.ip.packed

    assert checked(told(ip_addr=mapped, ip_port=0x10000 + CLAIM.port)).claim == CLAIM


def test_rule_7_the_address_was_not_signed_in_the_future() -> None:
    ahead = node(0).claim(timestamp=NOW + 60)
    checked(told(ip_signing_time=NOW + 60, ip_node_id_sig=ahead.tls_signature,
                 ip_bls_sig=ahead.bls_signature))  # fmt: skip

    with refused(
        claims.HandshakeReason.SIGNED_IN_THE_FUTURE,
        f"address was signed at {NOW + 61}, but it is {NOW}",
    ):
        checked(told(ip_signing_time=NOW + 61))


def test_rule_7_old_signature_of_the_address_is_accepted() -> None:
    old = node(0).claim(timestamp=1)
    handshake = told(
        ip_signing_time=1, ip_node_id_sig=old.tls_signature, ip_bls_sig=old.bls_signature
    )

    assert checked(handshake).claim == old


@pytest.mark.parametrize(
    "changes",
    [{"ip_node_id_sig": None}, {"ip_addr": bytes(4)}, {"ip_port": 1}, {"ip_signing_time": NOW - 1}],
    ids=lambda changes: next(iter(changes)),
)
def test_rule_8_the_address_is_signed_with_the_certificate_s_key(changes: dict[str, Any]) -> None:
    with refused(
        claims.HandshakeReason.WRONG_TLS_SIGNATURE, "signature of the address is not its node's"
    ):
        checked(told(**changes))


def test_rule_8_the_certificate_is_that_of_the_connection() -> None:
    with refused(
        claims.HandshakeReason.WRONG_TLS_SIGNATURE, "signature of the address is not its node's"
    ):
        checked(told(), certificate_der=OTHER.identity.certificate_der)


@pytest.mark.parametrize(
    "signature", [b"", bytes(96), b"\xff" * 96, b"\x80" + bytes(94) + b"\x02"], ids=len
)
@pytest.mark.parametrize("key", [None, PEER.bls_public_key], ids=["anybody", "validator"])
def test_rule_9_malformed_bls_signature_is_refused(signature: bytes, key: bytes | None) -> None:
    with refused(
        claims.HandshakeReason.MALFORMED_BLS_SIGNATURE, "malformed BLS signature of the address"
    ):
        checked(told(ip_bls_sig=signature), validator_key=key)


def test_rule_10_the_version_is_compatible() -> None:
    old = Client(name="avalanchego", major=1, minor=13, patch=5)

    assert checked(told(client=old), upgraded=False).version.minor == 13
    with refused(
        claims.HandshakeReason.INCOMPATIBLE_VERSION, "version avalanchego/1.13.5 is not compatible"
    ):
        checked(told(client=old))


@pytest.mark.parametrize("signature", [OTHER.claim().bls_signature, IDENTITY_SIGNATURE])
def test_rule_11_a_validator_signs_with_its_bls_key(signature: bytes) -> None:
    checked(told(ip_bls_sig=signature), validator_key=None)
    with refused(
        claims.HandshakeReason.WRONG_BLS_SIGNATURE,
        "BLS signature of the address is not the validator's",
    ):
        checked(told(ip_bls_sig=signature))


def test_the_upgrade_time_is_kept_within_a_row() -> None:
    assert checked(told(upgrade_time=2**64 - 1)).upgrade_time == 2**63 - 1


@settings(max_examples=cases(50))
@given(message_of_kind("handshake"), st.data())
def test_arbitrary_fields_raise_handshake_errors_only(
    message: Message, data: st.DataObject
) -> None:
    """Any field of a valid handshake may have any contents."""
    field = data.draw(st.sampled_from(list(Handshake.DESCRIPTOR.fields)))
    mixed = told()
    mixed.ClearField(field.name)  # type: ignore[arg-type]
    change = Handshake()
    change.CopyFrom(message.handshake)
    for other in Handshake.DESCRIPTOR.fields:
        if other.name != field.name:
            change.ClearField(other.name)  # type: ignore[arg-type]
    mixed.MergeFrom(change)

    for handshake in (mixed, message.handshake):
        try:
            facts = checked(handshake, validator_key=None)
        except claims.HandshakeError:
            continue
        assert facts.claim == CLAIM
