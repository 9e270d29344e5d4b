"""Warp messages on the C-Chain of a local network: sent, stored, signed, and received with a signature."""

from contextlib import ExitStack
from typing import Any

import pytest

from cchain_app import models
from cchain_app.evm.tracing import Recording
from cchain_app.pool.errors import PoolReason
from cchain_app.precompiles import addresses, predicates
from cchain_app.precompiles.sent import SENT
from cchain_app.selectors import tracing
from cchain_app.txs.transaction import contract_address
from chaindb.wakeup import Wakeup
from jsonrpc.errors import JsonRpcError
from network_app.chains.signing import EvmSigner
from network_app.ports import SignatureRefused
from network_app.wire.sdk_pb2 import SignatureRequest, SignatureResponse
from nodeproject.apps import this_node
from platform_app.selectors.signers import signers_for
from primitives import bls
from primitives.evm import Address, Slot
from primitives.hexadecimal import encode_data
from primitives.ids import ID, P_CHAIN_ID, PRIMARY_NETWORK_ID, NodeID
from primitives.warp import (
    AddressedCall,
    HashPayload,
    UnsignedMessage,
    build_payload,
    build_signed,
    parse_signed,
    verify_message,
)
from tests.builders.bytecode import assemble, deploy_code
from tests.builders.reasons import raises
from tests.integration.conftest import Chain, Rpc
from tests.integration.platform_app.conftest import (
    PChain,
    nothing_remembered,
    pchain,
)

__all__ = ["nothing_remembered", "pchain"]

pytestmark = pytest.mark.node_settings(mining="manual", warp=True)

HELLO = b"hello"
SEND = bytes.fromhex("ee5b48eb")
CHAIN_ID = bytes.fromhex("4213cf78")
EWOQ = Address(bytes.fromhex("8db97c7cece249c2b98bdc0226cc4c2a57bf52fc"))


@pytest.fixture
def chain(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> Chain:
    """A C-Chain with the warp precompile, on a network whose only validator is this node."""
    monkeypatch.setattr(Wakeup, "request", lambda _wakeup: None)
    return Chain()


def sending(payload: bytes) -> bytes:
    padded = payload + bytes(-len(payload) % 32)
    return SEND + b"".join(size.to_bytes(32, "big") for size in (32, len(payload))) + padded


def sent(chain: Chain, payload: bytes = HELLO) -> UnsignedMessage:
    """Send a message in a block of its own; return it as it must be."""
    chain.do(to=addresses.WARP, data=sending(payload), gas=200_000, value=0)
    return message(chain, AddressedCall(EWOQ, payload))


def message(chain: Chain, payload: Any) -> UnsignedMessage:
    return UnsignedMessage(12345, chain.evm.blockchain_id, build_payload(payload))


def secret() -> bytes:
    return this_node().network.identity.bls_secret


def test_the_precompile_knows_the_chain(chain: Chain, rpc: Rpc) -> None:
    asked = {"to": encode_data(addresses.WARP), "data": encode_data(CHAIN_ID)}

    assert rpc("eth_call", asked, "latest") == encode_data(chain.evm.blockchain_id)
    assert rpc("eth_getCode", encode_data(addresses.WARP), "0x0") == "0x01"
    assert rpc("eth_getChainConfig")["warpConfig"] == {
        "blockTimestamp": 0,
        "quorumNumerator": 67,
        "requirePrimaryNetworkSigners": False,
    }


def test_a_sent_message_is_a_log_and_a_row(chain: Chain, rpc: Rpc) -> None:
    given = sent(chain)
    again = sent(chain)

    (log, _) = rpc("eth_getLogs", {"fromBlock": "0x1", "address": encode_data(addresses.WARP)})
    rows = this_node().database.rows(
        "SELECT message_id, block_number, log_index, sender, message FROM c_warp_messages"
    )

    assert given == again
    assert log["topics"] == [
        encode_data(SENT),
        encode_data(bytes(12) + EWOQ),
        encode_data(given.message_id),
    ]
    assert rows == [
        (encode_data(given.message_id), 1, 0, encode_data(EWOQ), encode_data(given.raw))
    ]


def test_the_node_signs_it_for_users_and_peers(chain: Chain, rpc: Rpc) -> None:
    given = sent(chain)
    key = bls.public_key(secret())

    signature = b""
    for wanted in (str(given.message_id), encode_data(given.message_id)):
        assert rpc("warp_getMessage", wanted) == encode_data(given.raw)
        signature = bytes.fromhex(rpc("warp_getMessageSignature", wanted)[2:])
        assert bls.verify(key, given.raw, signature)
    assert asked(chain, given) == signature


def test_the_node_signs_that_a_block_is_accepted(chain: Chain, rpc: Rpc) -> None:
    block = chain.mine()
    given = message(chain, HashPayload(ID(block.hash)))

    signature = bytes.fromhex(rpc("warp_getBlockSignature", encode_data(block.hash))[2:])

    assert bls.verify(bls.public_key(secret()), given.raw, signature)
    assert asked(chain, given) == signature


def asked(chain: Chain, given: UnsignedMessage) -> bytes:
    """Return the signature that a peer gets."""
    request = SignatureRequest(message=given.raw).SerializeToString()
    answer = EvmSigner(chain.evm, secret()).sign(request)
    return SignatureResponse.FromString(answer).signature


def test_what_the_chain_did_not_say_is_not_signed(chain: Chain, rpc: Rpc) -> None:
    given = sent(chain)
    block = HashPayload(ID(chain.mine().hash))
    cases = [
        (message(chain, AddressedCall(EWOQ, b"other")), 2, "source address should be empty for offchain"),
        (message(chain, AddressedCall(b"", b"offchain")), 1, "failed to parse addressed call message"),
        (message(chain, HashPayload(ID(bytes(32)))), 2, "failed to get block 1111"),
        (UnsignedMessage(1, chain.evm.blockchain_id, build_payload(block)), -1, "wrong networkID"),
        (UnsignedMessage(12345, ID(bytes(32)), build_payload(block)), -1, "wrong SourceChainID"),
        (UnsignedMessage(12345, chain.evm.blockchain_id, b"\x07"), 1, "failed to parse payload"),
    ]  # fmt: skip
    for one, code, words in cases:
        with pytest.raises(SignatureRefused, match=words) as refused:
            asked(chain, one)
        assert refused.value.code == code
    nothing = ID(bytes(32))
    for method, what in (
        ("warp_getMessage", "message"),
        ("warp_getMessageSignature", "message"),
        ("warp_getBlockSignature", "block"),
    ):
        with pytest.raises(JsonRpcError) as unknown:
            rpc(method, str(nothing))
        assert unknown.value.message == f"failed to get {what} {nothing} with error not found"
    with pytest.raises(JsonRpcError, match="couldn't decode ID to bytes"):
        rpc("warp_getMessage", "nonsense")
    assert rpc("warp_getMessage", str(given.message_id))


@pytest.mark.sqlite_only  # a development method rewinds
def test_a_rewind_forgets_messages(chain: Chain, rpc: Rpc) -> None:
    kept = sent(chain)
    snapshot = rpc("evm_snapshot")
    sent(chain, b"later")

    assert rpc("evm_revert", snapshot)

    assert [row.message_id for row in models.WarpMessage.objects.all()] == [kept.message_id]


def entry(given: UnsignedMessage, signature: bytes) -> Any:
    keys = predicates.pack(build_signed(given, 1, signature))
    return addresses.WARP, tuple(map(Slot, keys))


def reading() -> bytes:
    """Return code that stores in slot 1 whether the first message holds, plus one."""
    head = assemble(0x6F825350 << 224, 0, "MSTORE")
    called = assemble(96, 64, 36, 0, 0, int.from_bytes(addresses.WARP, "big"), "GAS CALL POP")
    return head + called + assemble(96, "MLOAD", 1, "ADD", 1, "SSTORE")


def test_a_signed_message_is_received_and_a_false_one_is_not(chain: Chain, rpc: Rpc) -> None:
    given = sent(chain)
    reader = contract_address(EWOQ, chain.nonce)
    chain.do(to=None, data=deploy_code(reading()), gas=500_000, value=0)
    right, wrong = bls.sign(secret(), given.raw), bls.sign(secret(), b"other")

    found = {}
    for name, signatures in (("right", [right]), ("wrong", [wrong]), ("both", [right, wrong])):
        access_list = tuple(entry(given, one) for one in signatures)
        _, block = chain.do(to=reader, access_list=access_list, gas=900_000, value=0)
        chain.forget()
        (traced,) = tracing.trace_block(chain.evm, block, Recording(state=True), time_limit=60.0)
        assert traced.succeeded
        held = rpc("eth_getStorageAt", encode_data(reader), "0x1", "latest")
        found[name] = (block.header.extra_data, int(held, 16))

    assert found == {"right": (b"", 2), "wrong": (b"\x01", 1), "both": (b"\x02", 2)}


def test_a_call_reads_the_message_in_its_access_list(chain: Chain, rpc: Rpc) -> None:
    given = sent(chain)
    address, keys = entry(given, bls.sign(secret(), given.raw))
    asked_for = {
        "to": encode_data(address),
        "data": encode_data(bytes.fromhex("6f825350") + bytes(32)),
        "accessList": [
            {"address": encode_data(address), "storageKeys": list(map(encode_data, keys))}
        ],
    }

    answer = bytes.fromhex(rpc("eth_call", asked_for, "latest")[2:])

    assert answer[64:96] == bytes(chain.evm.blockchain_id)
    assert HELLO in answer
    assert int(rpc("eth_estimateGas", asked_for), 16) > 125_000


def test_too_little_gas_for_a_message_is_refused_at_once(chain: Chain) -> None:
    given = sent(chain)
    access_list = (entry(given, bls.sign(secret(), given.raw)),)

    with raises(PoolReason.INTRINSIC_GAS_TOO_LOW):
        chain.send(chain.make(to=EWOQ, access_list=access_list, gas=100_000))


def test_the_signatures_of_validators_are_aggregated(chain: Chain, rpc: Rpc) -> None:
    given = sent(chain)
    block = chain.mine()
    signers = signers_for(
        this_node().platform_chain, PRIMARY_NETWORK_ID, P_CHAIN_ID, None, primary_network=False
    )

    of_message = rpc("warp_getMessageAggregateSignature", str(given.message_id))
    of_block = rpc("warp_getBlockAggregateSignature", encode_data(block.hash), 100, "")

    signed = parse_signed(bytes.fromhex(of_message[2:]))
    assert signed.message == given
    verify_message(signed, 12345, signers)
    signed = parse_signed(bytes.fromhex(of_block[2:]))
    assert signed.message == message(chain, HashPayload(ID(block.hash)))
    verify_message(signed, 12345, signers, numerator=100)


def test_without_enough_signatures_there_is_no_aggregate(chain: Chain, rpc: Rpc) -> None:
    given, nobody = sent(chain), str(ID(b"\x07" * 32))

    with pytest.raises(JsonRpcError, match=f"subnet {nobody} has no validators"):
        rpc("warp_getMessageAggregateSignature", str(given.message_id), 67, nobody)
    with pytest.raises(JsonRpcError, match="quorum 101 of 100"):
        rpc("warp_getMessageAggregateSignature", str(given.message_id), 101)
    for method in ("warp_getMessageAggregateSignature", "warp_getBlockAggregateSignature"):
        with pytest.raises(JsonRpcError, match="with error not found"):
            rpc(method, nobody)


def test_few_calls_wait_for_peers_at_once(chain: Chain, rpc: Rpc) -> None:
    given = sent(chain)
    slots = this_node().network.message_signers._slots
    with ExitStack() as held:
        assert all(held.enter_context(slots.slot()) for _ in range(slots.count))
        with pytest.raises(JsonRpcError, match="too many calls wait for signatures already"):
            rpc("warp_getMessageAggregateSignature", str(given.message_id))
    assert rpc("warp_getMessageAggregateSignature", str(given.message_id))


def test_peers_are_asked_on_the_message_s_chain(chain: Chain) -> None:
    given = sent(chain)
    signers, other = this_node().network.message_signers, NodeID(b"\x09" * 20)
    own = this_node().network.identity.node_id
    asked_on = []

    class Peers:
        def ask(self, payload: bytes, node_ids: Any) -> dict[NodeID, bytes]:
            assert SignatureRequest.FromString(payload).message == given.raw
            return dict.fromkeys(node_ids, b"signed")

    def peers(name: str) -> Any:
        asked_on.append(name)
        return Peers()

    signers.peers = peers
    found = signers._collect("dex", given, b"", [own, other])

    assert asked_on == ["dex"]
    assert found == {own: signers.sign(given), other: b"signed"}
    assert signers._collect("dex", given, b"", [other]) == {other: b"signed"}
    signers.peers = lambda _: None  # the chain has not joined the network yet
    assert signers._collect("dex", given, b"", [own, other]) == {own: signers.sign(given)}
