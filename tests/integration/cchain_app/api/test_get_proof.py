"""eth_getProof: every proof is verified against the state root in the header."""

import pytest
import rlp

from jsonrpc.errors import JsonRpcError
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders import bytecode
from tests.builders.proofs import prove
from tests.builders.transactions import RECIPIENT, SENDER

EMPTY_ROOT = keccak256(rlp.encode(b""))


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def plain(text: str) -> bytes:
    return bytes.fromhex(text[2:])


def number(text: str) -> bytes:
    return rlp.encode(int(text, 16))


def check(rpc, answer, block="latest"):
    """Verify the proofs of the account and its slots against the block's state root."""
    root = plain(rpc("eth_getBlockByNumber", block, False)["stateRoot"])
    nodes = [plain(node) for node in answer["accountProof"]]
    account = prove(root, plain(answer["address"]), nodes)
    if account is not None:
        assert rlp.decode(account) == [
            rlp.decode(number(answer["nonce"])), rlp.decode(number(answer["balance"])),
            plain(answer["storageHash"]), plain(answer["codeHash"]),
        ]  # fmt: skip
    for slot in answer["storageProof"]:
        key = int(slot["key"], 16).to_bytes(32, "big")
        value = prove(plain(answer["storageHash"]), key, [plain(node) for node in slot["proof"]])
        assert int.from_bytes(rlp.decode(value) if value else b"", "big") == int(slot["value"], 16)
    return account


def test_get_proof_of_an_account(rpc, chain):
    answer = rpc("eth_getProof", hexed(SENDER), [], "latest")
    assert check(rpc, answer) is not None
    assert answer["codeHash"] == hexed(EMPTY_HASH)


def test_an_account_that_does_not_exist_is_proven_absent(rpc, chain):
    answer = rpc("eth_getProof", "0x" + "77" * 20, ["0x1"], "latest")
    assert check(rpc, answer) is None
    assert answer["balance"] == "0x0"
    assert answer["codeHash"] == hexed(EMPTY_HASH)
    assert answer["storageHash"] == hexed(EMPTY_ROOT)
    assert answer["storageProof"] == [{"key": "0x1", "value": "0x0", "proof": []}]


def test_get_account_is_the_leaf_of_the_trie(rpc, chain):
    address = bytecode.created(SENDER, 0)
    chain.do(to=None, data=bytecode.deploy_code(bytecode.STORE), gas=500_000, value=3)
    chain.do(to=address, data=bytecode.words(1, 1000), gas=100_000, value=0)

    for height in ("0x0", "0x1", "0x2", "latest"):
        proof = rpc("eth_getProof", hexed(address), ["0x1"], height)
        check(rpc, proof, height)
        assert rpc("eth_getAccount", hexed(address), height) == {
            "nonce": proof["nonce"], "balance": proof["balance"],
            "storageRoot": proof["storageHash"], "codeHash": proof["codeHash"],
        }  # fmt: skip
    assert rpc("eth_getAccount", hexed(address), "0x1")["storageRoot"] == hexed(EMPTY_ROOT)
    assert rpc("eth_getAccount", hexed(address))["storageRoot"] != hexed(EMPTY_ROOT)


def test_slots_that_are_set_and_slots_that_are_not(rpc, chain):
    address = bytecode.created(SENDER, 0)
    chain.do(to=None, data=bytecode.deploy_code(bytecode.STORE), gas=500_000, value=0)
    for slot in range(1, 6):
        chain.do(to=address, data=bytecode.words(slot, slot * 1000), gas=100_000, value=0)
    keys = ["0x1", "0x5", "0x9", hexed((2).to_bytes(32, "big"))]
    answer = rpc("eth_getProof", hexed(address), keys, "latest")
    assert check(rpc, answer) is not None
    assert [item["key"] for item in answer["storageProof"]] == keys
    values = [int(other["value"], 16) for other in answer["storageProof"]]
    assert values == [1000, 5000, 0, 2000]


def test_a_proof_at_an_earlier_height(rpc, chain):
    for value in (5, 7, 9):
        chain.do(value=value)
    for height, balance in (("0x1", 5), ("0x2", 12), ("0x3", 21)):
        answer = rpc("eth_getProof", hexed(RECIPIENT), [], height)
        assert check(rpc, answer, height) is not None
        assert int(answer["balance"], 16) == balance


def test_too_many_keys_are_refused(rpc, chain):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_getProof", hexed(SENDER), ["0x1"] * 1025, "latest")
    assert (failure.value.code, failure.value.message) == (-32602, "too many slots (max 1024)")


def test_a_bad_key_is_refused(rpc, chain):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_getProof", hexed(SENDER), ["0xzz"], "latest")
    assert failure.value.message == 'invalid hex in storage key: "0xzz"'
