"""Blob transactions over RPC: sent raw, filled, signed and sent by the node, and their blobs read again."""

from typing import Any

import pytest

from cchain_app.evm.kzg import make_sidecar
from cchain_app.txs.blobs import Sidecar, separate, versioned_hash
from jsonrpc.errors import JsonRpcError
from tests.builders.blobs import (
    GWEI,
    INFINITY,
    NO_BLOB,
    OTHER_BLOB,
    ZERO_BLOB,
    ZERO_HASH,
    blob_transaction,
    sent_blobs,
    zero_sidecar,
)
from tests.builders.cchain import SENDERS
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

TO = f"0x{RECIPIENT.hex()}"
FIRST = f"0x{SENDERS[0].hex()}"
STRANGER = "0x" + "57" * 20
PER_BLOB = 2**17


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def texts(*values: bytes) -> list[str]:
    return [*map(hexed, values)]


def request(sidecar: Sidecar, **members: Any) -> dict[str, Any]:
    """Return a request with all members of a sidecar."""
    return {
        "to": TO,
        "blobs": texts(*sidecar.blobs),
        "commitments": texts(*sidecar.commitments),
        "proofs": texts(*sidecar.proofs),
        **members,
    }


def refused(rpc: Rpc, method: str, *params: Any) -> JsonRpcError:
    with pytest.raises(JsonRpcError) as refusal:
        rpc(method, *params)
    return refusal.value


@pytest.mark.parametrize("version", [0, 1])
def test_raw_blob_transaction_is_shown_pending_and_mined(
    rpc: Rpc, chain: Chain, version: int
) -> None:
    made = sent_blobs(2, version=version)
    chain.nonce += 1
    sent = rpc("eth_sendRawTransaction", hexed(made.raw))
    assert sent == hexed(made.transaction.hash)

    pending = rpc("eth_getTransactionByHash", sent)
    members = {
        "type": "0x3",
        "maxFeePerBlobGas": hex(GWEI),
        "blobVersionedHashes": texts(ZERO_HASH) * 2,
    }
    assert members.items() <= pending.items()
    assert not {"blobs", "commitments", "proofs"} & pending.keys()
    waiting = rpc("txpool_content")["pending"]
    assert [[item["hash"] for item in of.values()] for of in waiting.values()] == [[sent]]
    assert rpc("anvil_getBlobsByTransactionHash", sent) == texts(ZERO_BLOB) * 2
    block = rpc("eth_getBlockByNumber", "pending", False)
    assert (block["blobGasUsed"], block["transactions"]) == (hex(2 * PER_BLOB), [sent])

    chain.mine()
    assert members.items() <= rpc("eth_getTransactionByHash", sent).items()
    assert rpc("eth_getRawTransactionByHash", sent) == hexed(made.transaction.raw)
    receipt = rpc("eth_getTransactionReceipt", sent)
    assert (receipt["type"], receipt["blobGasUsed"], receipt["blobGasPrice"]) == (
        "0x3", hex(2 * PER_BLOB), "0x1",
    )  # fmt: skip
    header = rpc("eth_getBlockByNumber", "latest", False)
    assert (header["blobGasUsed"], header["excessBlobGas"]) == (hex(2 * PER_BLOB), "0x0")
    assert rpc("anvil_getBlobsByTransactionHash", sent) == texts(ZERO_BLOB) * 2
    assert rpc("anvil_getBlobByHash", hexed(ZERO_HASH)) == hexed(ZERO_BLOB)


def test_unknown_blobs_are_null(rpc: Rpc, chain: Chain) -> None:
    plain, _ = chain.do()
    assert rpc("anvil_getBlobByHash", hexed(ZERO_HASH)) is None
    assert rpc("anvil_getBlobsByTransactionHash", hexed(plain.hash)) is None
    assert rpc("anvil_getBlobsByTransactionHash", "0x" + "11" * 32) is None


@pytest.mark.node_settings(hardfork="prague")
def test_the_fee_history_has_their_prices(rpc: Rpc, chain: Chain) -> None:
    for _ in range(9):
        assert rpc("eth_sendRawTransaction", hexed(sent_blobs(9, nonce=chain.nonce).raw))
        chain.nonce += 1
        chain.mine()

    assert rpc("eth_blobBaseFee") == "0x2"
    history = rpc("eth_feeHistory", "0x2", "latest", [])
    assert history["baseFeePerBlobGas"] == ["0x1", "0x1", "0x2"]
    assert history["blobGasUsedRatio"] == [1, 1]
    for _ in range(32):  # more blocks than are answered from memory
        chain.mine()
    long = rpc("eth_feeHistory", "0x30", "latest", None)
    assert len(long["baseFeePerBlobGas"]) == len(long["baseFeePerGas"]) == 43
    assert long["blobGasUsedRatio"] == [0] + [1] * 9 + [0] * 32
    assert max(int(price, 16) for price in long["baseFeePerBlobGas"]) == 2


@pytest.mark.node_settings(hardfork="prague")
def test_omitted_blob_fields_are_computed(rpc: Rpc, chain: Chain) -> None:
    filled = rpc(
        "eth_fillTransaction", {"from": FIRST, "to": TO, "blobs": texts(OTHER_BLOB, ZERO_BLOB)}
    )
    sidecar = make_sidecar(chain.evm.kzg, [OTHER_BLOB, ZERO_BLOB], 0)
    hashes = [versioned_hash(commitment) for commitment in sidecar.commitments]

    tx = filled["tx"]
    assert (tx["type"], tx["maxFeePerBlobGas"]) == ("0x3", "0x2")
    assert tx["blobVersionedHashes"] == texts(*hashes)
    assert (tx["blobs"], tx["commitments"], tx["proofs"]) == (
        texts(*sidecar.blobs), texts(*sidecar.commitments), texts(*sidecar.proofs),
    )  # fmt: skip
    assert separate(bytes.fromhex(filled["raw"][2:]), 10**5).sidecar == sidecar

    sent = rpc("eth_sendTransaction", {"from": FIRST, "to": TO, "blobs": texts(OTHER_BLOB)})
    chain.mine()
    assert rpc("eth_getTransactionReceipt", sent)["blobGasUsed"] == hex(PER_BLOB)
    assert rpc("anvil_getBlobByHash", hexed(hashes[0])) == hexed(OTHER_BLOB)


def test_since_osaka_it_computes_the_proofs_of_cells(rpc: Rpc, chain: Chain) -> None:
    filled = rpc("eth_fillTransaction", {"from": FIRST, "to": TO, "blobs": texts(ZERO_BLOB)})
    assert separate(bytes.fromhex(filled["raw"][2:]), 10**5).sidecar == zero_sidecar(1, 1)

    seven = {"from": FIRST, "to": TO, "blobs": texts(ZERO_BLOB) * 7}
    refusal = refused(rpc, "eth_sendTransaction", seven)
    assert refusal.message == "too many blobs in transaction (have=7, max=6)"
    raw = refused(rpc, "eth_sendRawTransaction", hexed(sent_blobs(7).raw))
    assert raw.message == "transaction blob limit exceeded: blob count 7, limit 6"
    assert rpc("eth_sendRawTransaction", hexed(sent_blobs(6).raw))
    chain.nonce += 1
    chain.mine()
    assert rpc("eth_getBlockByNumber", "latest", False)["blobGasUsed"] == hex(6 * PER_BLOB)


@pytest.mark.parametrize("version", [0, 1])
def test_node_signs_and_sends_a_blob_transaction(rpc: Rpc, chain: Chain, version: int) -> None:
    raw = rpc("eth_signTransaction", request(zero_sidecar(1, version), **{"from": FIRST}))
    sent = rpc("eth_sendRawTransaction", raw)
    chain.mine()
    assert rpc("eth_getTransactionReceipt", sent)["blobGasUsed"] == hex(PER_BLOB)


def test_an_impersonated_account_sends_blobs_too(rpc: Rpc, chain: Chain) -> None:
    rpc("anvil_setBalance", STRANGER, hex(10**18))
    rpc("anvil_impersonateAccount", STRANGER)
    sent = rpc("eth_sendTransaction", request(zero_sidecar(), **{"from": STRANGER}))
    chain.mine()
    assert rpc("eth_getTransactionByHash", sent)["from"] == STRANGER
    assert rpc("anvil_getBlobsByTransactionHash", sent) == texts(ZERO_BLOB)

    bare = {"from": STRANGER, "to": TO, "blobVersionedHashes": texts(ZERO_HASH)}
    assert "missing sidecar" in refused(rpc, "eth_sendTransaction", bare).message


POINTS = texts(INFINITY)
WRONG = {
    "blobs": texts(OTHER_BLOB), "commitments": POINTS, "proofs": POINTS,
}  # fmt: skip
ONE = {"blobs": texts(ZERO_BLOB)}


@pytest.mark.parametrize(
    ("members", "code", "words"),
    [
        ({"blobs": []}, -32000, "need at least 1 blob for a blob transaction"),
        ({"commitments": POINTS, "proofs": POINTS, "blobVersionedHashes": texts(ZERO_HASH)},
         -32000, "missing sidecar in blob transaction"),
        ({**ONE, "blobVersionedHashes": texts(ZERO_HASH) * 2}, -32000,
         "number of blobs and hashes mismatch (have=1, want=2)"),
        ({**ONE, "commitments": POINTS * 2, "proofs": POINTS}, -32000,
         "number of blobs and commitments mismatch (have=2, want=1)"),
        ({**ONE, "commitments": POINTS, "proofs": POINTS * 2}, -32000,
         "number of blobs and proofs mismatch (have=2, want=1)"),
        ({**ONE, "commitments": POINTS}, -32000, "blob commitments provided while proofs were not"),
        ({**ONE, "proofs": POINTS}, -32000, "blob proofs provided while commitments were not"),
        ({"blobs": texts(ZERO_BLOB) * 10}, -32000,
         "too many blobs in transaction (have=10, max=6)"),
        (WRONG, -32000, "failed to verify blob proof"),
        ({"blobs": texts(NO_BLOB)}, -32000, "failed to compute blob commitment: "),
        ({**ONE, "blobVersionedHashes": ["0x01" + "00" * 31]}, -32000,
         "blob hash verification failed (have=0x01" + "00" * 31),
        ({**ONE, "to": None}, -32000, 'missing "to" in blob transaction'),
        ({**ONE, "maxFeePerBlobGas": "0x0"}, -32000,
         "maxFeePerBlobGas, if specified, must be non-zero"),
        ({"blobs": ["0x00"]}, -32602, "a kzg4844.Blob has 131072 bytes, not 1"),
        ({"blobs": "0x00"}, -32602, "json: cannot unmarshal string into Go"),
        ({**ONE, "commitments": ["0x00"]}, -32602, "a kzg4844.Commitment has 48 bytes, not 1"),
        ({"proofs": ["0x"] * 5000}, -32602, "too many values for []kzg4844.Proof: 5000, limit 2688"),
        ({**ONE, "type": "0x2"}, -32602, "a transaction of type 2 has no blobs"),
        ({"blobVersionedHashes": texts(ZERO_HASH), "type": "0x2"}, -32602,
         "a transaction of type 2 has no blobVersionedHashes"),
    ],
)  # fmt: skip
def test_blobs_that_do_not_belong_together_are_refused(
    rpc: Rpc, chain: Chain, members: dict[str, Any], code: int, words: str
) -> None:
    refusal = refused(rpc, "eth_sendTransaction", {"from": FIRST, "to": TO, **members})

    assert (refusal.code, words in refusal.message) == (code, True), refusal.message
    assert rpc("txpool_status") == {"pending": "0x0", "queued": "0x0"}


@pytest.mark.parametrize("method", ["eth_sendRawTransaction", "eth_sendRawTransactionSync"])
def test_an_envelope_without_its_blobs_is_refused(rpc: Rpc, chain: Chain, method: str) -> None:
    refusal = refused(rpc, method, hexed(blob_transaction().raw))
    assert (refusal.code, refusal.message) == (-32000, "missing sidecar in blob transaction")


@pytest.mark.node_settings(network_id=5)
def test_other_networks_refuse_blobs(rpc: Rpc, chain: Chain) -> None:
    words = "transaction type not supported: tx type 3 not supported by this pool"
    assert refused(rpc, "eth_sendRawTransaction", hexed(sent_blobs().raw)).message == words
    filling = {"from": FIRST, "to": TO, "blobs": texts(ZERO_BLOB)}
    assert refused(rpc, "eth_fillTransaction", filling).message == words
    assert refused(rpc, "anvil_getBlobByHash", hexed(ZERO_HASH)).code == -32601
    assert "baseFeePerBlobGas" not in rpc("eth_feeHistory", "0x1", "latest", [])


def test_blob_transaction_is_not_resent_with_another_price(rpc: Rpc, chain: Chain) -> None:
    again = {"from": FIRST, "to": TO, "nonce": "0x0", "blobVersionedHashes": texts(ZERO_HASH)}
    words = "blob transactions cannot be resent with another gas price or limit"
    assert refused(rpc, "eth_resend", again, "0x1", "0x0").message == words


def test_calls_and_contracts_read_the_hashes(rpc: Rpc, chain: Chain) -> None:
    code = bytes.fromhex("5f495f5260205ff3")  # returns BLOBHASH of 0
    stores = bytes.fromhex("5f495f55")  # stores it
    for name, runtime in (("77", code), ("78", stores)):
        rpc("anvil_setCode", "0x" + name * 20, hexed(runtime))
    call = {
        "to": "0x" + "77" * 20,
        "blobVersionedHashes": texts(ZERO_HASH),
        "maxFeePerBlobGas": "0x1",
    }
    assert rpc("eth_call", call) == hexed(ZERO_HASH)
    assert int(rpc("eth_estimateGas", {**call, "to": TO}), 16) == 21_000

    made = sent_blobs(1, to=bytes.fromhex("78" * 20), gas=100_000)
    rpc("eth_sendRawTransaction", hexed(made.raw))
    chain.nonce += 1
    chain.mine()
    assert rpc("eth_getStorageAt", "0x" + "78" * 20, "0x0") == hexed(ZERO_HASH)
    trace = rpc("debug_traceTransaction", hexed(made.transaction.hash))
    assert [step["op"] for step in trace["structLogs"]][:2] == ["PUSH0", "BLOBHASH"]
    returns = sent_blobs(1, to=bytes.fromhex("77" * 20), gas=100_000)
    for raw in (returns.raw, returns.transaction.raw):
        assert rpc("trace_rawTransaction", hexed(raw), ["trace"])["output"] == hexed(ZERO_HASH)


def test_simulated_blob_transaction_uses_blob_gas(rpc: Rpc, chain: Chain) -> None:
    call = {
        "from": f"0x{SENDER.hex()}", "to": TO, "blobVersionedHashes": texts(ZERO_HASH) * 2,
        "maxFeePerBlobGas": "0x1",
    }  # fmt: skip
    (block,) = rpc("eth_simulateV1", {"blockStateCalls": [{"calls": [call]}]})
    assert (block["blobGasUsed"], block["calls"][0]["status"]) == (hex(2 * PER_BLOB), "0x1")
