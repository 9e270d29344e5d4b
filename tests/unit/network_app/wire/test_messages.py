"""The fields of messages have the same numbers and types as the reference's (p2p.md 3 and 8)."""

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message as AnyMessage

from network_app.wire import p2p_pb2, sdk_pb2

KINDS = {
    2: "compressed_zstd", 11: "ping", 12: "pong", 13: "handshake", 14: "peer_list",
    15: "get_state_summary_frontier", 16: "state_summary_frontier",
    17: "get_accepted_state_summary", 18: "accepted_state_summary", 19: "get_accepted_frontier",
    20: "accepted_frontier", 21: "get_accepted", 22: "accepted", 23: "get_ancestors",
    24: "ancestors", 25: "get", 26: "put", 27: "push_query", 28: "pull_query", 29: "chits",
    30: "app_request", 31: "app_response", 32: "app_gossip", 34: "app_error", 35: "get_peer_list",
    36: "simplex",
}  # fmt: skip

REQUEST = "1 chain_id bytes · 2 request_id uint32 · 3 deadline uint64"
ANSWER = "1 chain_id bytes · 2 request_id uint32"
FIELDS = {
    "Ping": "1 uptime uint32",
    "Pong": "",
    "Handshake": "1 network_id uint32 · 2 my_time uint64 · 3 ip_addr bytes · 4 ip_port uint32"
    " · 5 upgrade_time uint64 · 6 ip_signing_time uint64 · 7 ip_node_id_sig bytes"
    " · 8 tracked_subnets repeated bytes · 9 client Client · 10 supported_acps repeated uint32"
    " · 11 objected_acps repeated uint32 · 12 known_peers BloomFilter · 13 ip_bls_sig bytes"
    " · 14 all_subnets bool",
    "Client": "1 name string · 2 major uint32 · 3 minor uint32 · 4 patch uint32",
    "BloomFilter": "1 filter bytes · 2 salt bytes",
    "GetPeerList": "1 known_peers BloomFilter · 2 all_subnets bool",
    "PeerList": "1 claimed_ip_ports repeated ClaimedIpPort",
    "ClaimedIpPort": "1 x509_certificate bytes · 2 ip_addr bytes · 3 ip_port uint32"
    " · 4 timestamp uint64 · 5 signature bytes · 6 tx_id bytes",
    "GetStateSummaryFrontier": REQUEST,
    "StateSummaryFrontier": f"{ANSWER} · 3 summary bytes",
    "GetAcceptedStateSummary": f"{REQUEST} · 4 heights repeated uint64",
    "AcceptedStateSummary": f"{ANSWER} · 3 summary_ids repeated bytes",
    "GetAcceptedFrontier": REQUEST,
    "AcceptedFrontier": f"{ANSWER} · 3 container_id bytes",
    "GetAccepted": f"{REQUEST} · 4 container_ids repeated bytes",
    "Accepted": f"{ANSWER} · 3 container_ids repeated bytes",
    "GetAncestors": f"{REQUEST} · 4 container_id bytes · 5 engine_type enum",
    "Ancestors": f"{ANSWER} · 3 containers repeated bytes",
    "Get": f"{REQUEST} · 4 container_id bytes",
    "Put": f"{ANSWER} · 3 container bytes",
    "PushQuery": f"{REQUEST} · 4 container bytes · 6 requested_height uint64",
    "PullQuery": f"{REQUEST} · 4 container_id bytes · 6 requested_height uint64",
    "Chits": f"{ANSWER} · 3 preferred_id bytes · 4 accepted_id bytes"
    " · 5 preferred_id_at_height bytes · 6 accepted_height uint64",
    "AppRequest": f"{REQUEST} · 4 app_bytes bytes",
    "AppResponse": f"{ANSWER} · 3 app_bytes bytes",
    "AppError": f"{ANSWER} · 3 error_code sint32 · 4 error_message string",
    "AppGossip": "1 chain_id bytes · 2 app_bytes bytes",
    "Simplex": "1 chain_id bytes",
}
PAYLOADS = {
    "PushGossip": "1 gossip repeated bytes",
    "PullGossipRequest": "2 salt bytes · 3 filter bytes",
    "PullGossipResponse": "1 gossip repeated bytes",
    "SignatureRequest": "1 message bytes · 2 justification bytes",
    "SignatureResponse": "1 signature bytes",
    "L1ValidatorRegistrationJustification": (
        "1 convert_subnet_to_l1_tx_data SubnetIDIndex · 2 register_l1_validator_message bytes"
    ),
    "SubnetIDIndex": "1 subnet_id bytes · 2 index uint32",
}
FORMS = {
    FieldDescriptor.TYPE_BYTES: "bytes", FieldDescriptor.TYPE_STRING: "string",
    FieldDescriptor.TYPE_UINT32: "uint32", FieldDescriptor.TYPE_UINT64: "uint64",
    FieldDescriptor.TYPE_SINT32: "sint32", FieldDescriptor.TYPE_BOOL: "bool",
    FieldDescriptor.TYPE_ENUM: "enum",
}  # fmt: skip


def described(descriptor: Descriptor) -> str:
    return " · ".join(
        f"{field.number} {field.name} {'repeated ' if field.is_repeated else ''}{form(field)}"
        for field in descriptor.fields
    )


def form(field: FieldDescriptor) -> str:
    return field.message_type.name if field.message_type else FORMS[field.type]


def test_messages_match_the_reference() -> None:
    descriptor = p2p_pb2.Message.DESCRIPTOR
    (one_of,) = descriptor.oneofs

    assert one_of.name == "message"
    assert {field.number: field.name for field in one_of.fields} == KINDS
    assert len(one_of.fields) == len(descriptor.fields)


def test_all_messages_are_described() -> None:
    assert set(p2p_pb2.DESCRIPTOR.message_types_by_name) == {"Message", *FIELDS}
    assert set(sdk_pb2.DESCRIPTOR.message_types_by_name) == set(PAYLOADS)


@pytest.mark.parametrize("name", FIELDS)
def test_fields_have_the_reference_s_numbers_and_forms(name: str) -> None:
    assert described(p2p_pb2.DESCRIPTOR.message_types_by_name[name]) == FIELDS[name]


@pytest.mark.parametrize("name", PAYLOADS)
def test_fields_of_payloads_have_the_reference_s_numbers_and_forms(name: str) -> None:
    assert described(sdk_pb2.DESCRIPTOR.message_types_by_name[name]) == PAYLOADS[name]


@pytest.mark.parametrize(
    ("message", "written"),
    [
        (p2p_pb2.Message(ping=p2p_pb2.Ping(uptime=100)), "5a02 0864"),
        (p2p_pb2.Message(pong=p2p_pb2.Pong()), "6200"),
        (
            p2p_pb2.Message(app_error=p2p_pb2.AppError(error_code=-2, error_message="no")),
            "9202 06 1803 2202 6e6f",
        ),
        (
            p2p_pb2.Message(
                get_accepted_state_summary=p2p_pb2.GetAcceptedStateSummary(heights=[1, 300])
            ),
            "8a01 05 2203 01ac02",
        ),
        (p2p_pb2.Message(peer_list=p2p_pb2.PeerList()), "7200"),
        (
            p2p_pb2.Message(get_ancestors=p2p_pb2.GetAncestors(engine_type="ENGINE_TYPE_CHAIN")),
            "ba01 02 2802",
        ),
    ],
    ids=["ping", "pong", "zig-zag", "packed", "nothing in it", "chain"],
)
def test_bytes_are_those_of_the_wire(message: AnyMessage, written: str) -> None:
    assert message.SerializeToString() == bytes.fromhex(written)


def test_numbers_that_are_not_packed_are_read() -> None:
    message = p2p_pb2.GetAcceptedStateSummary.FromString(bytes.fromhex("2001 20ac02"))

    assert list(message.heights) == [1, 300]
