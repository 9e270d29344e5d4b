"""platform.issueTx."""

import json
from typing import Any

import pytest

from jsonrpc.dispatch.dispatcher import Body
from jsonrpc.dispatch.envelope import RpcCall
from jsonrpc.errors import JsonRpcError
from network_app.models import SyncPhase
from nodeproject.apps import this_node
from platform_app.config import UNIT
from platform_app.services import mempool
from platform_app.txs.base import BaseTx
from platform_app.txs.codec import build
from primitives.checksummed import TextEncoding, encode
from tests.builders import network_rows, platform
from tests.builders.node_settings import updated
from tests.integration.platform_app.conftest import PChain, Rpc, refusal
from tests.integration.platform_app.made import export


def test_a_signed_transaction_is_committed_with_the_next_block(pchain: PChain, rpc: Rpc) -> None:
    tx = pchain.make(BaseTx, pchain.output(UNIT, platform.ADDRESS))
    tx_id = str(tx.tx_id)

    assert rpc("platform.issueTx", tx=encode(tx.raw)) == {"txID": tx_id}
    assert rpc("platform.getTxStatus", txID=tx_id) == {"status": "Processing"}
    pchain.build()
    assert rpc("platform.getTxStatus", txID=tx_id) == {"status": "Committed"}


@pytest.mark.parametrize("encoding", ["hex", "hexc", "hexnc", "HEXNC"])
def test_encodings(pchain: PChain, rpc: Rpc, encoding: str) -> None:
    tx = pchain.make()
    text = encode(tx.raw, TextEncoding.parse(encoding))
    assert rpc("platform.issueTx", tx=text, encoding=encoding) == {"txID": str(tx.tx_id)}


def test_checksum_is_optional_without_encoding(pchain: PChain, rpc: Rpc) -> None:
    tx = pchain.make()
    text = encode(tx.raw, TextEncoding.HEXNC)

    for params in ({}, {"encoding": None}):
        assert rpc("platform.issueTx", tx=text, **params) == {"txID": str(tx.tx_id)}
    assert refusal(rpc, "platform.issueTx", tx=text, encoding="hex") == (
        "problem decoding transaction: invalid input checksum"
    )


@pytest.mark.parametrize("when", ["waiting", "accepted"])
def test_a_known_transaction_succeeds_again(pchain: PChain, rpc: Rpc, when: str) -> None:
    tx = pchain.make()
    if when == "waiting":
        pchain.issue(tx)
    else:
        pchain.do(tx)

    assert rpc("platform.issueTx", tx=encode(tx.raw)) == {"txID": str(tx.tx_id)}
    assert len(pchain.build()) == (1 if when == "waiting" else 0)


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"tx": "1234"}, "problem decoding transaction: missing 0x prefix to hex encoding"),
        ({"tx": "0x123"}, "problem decoding transaction: encoding/hex: odd length hex string"),
        ({"tx": "0x12gg"}, "problem decoding transaction: encoding/hex: invalid byte"),
        ({"tx": "0x1234"}, "problem decoding transaction: input string is smaller than the checksum size"),
        ({"tx": "0x" + "12" * 40}, "problem decoding transaction: invalid input checksum"),
        ({"tx": "0x00", "encoding": "json"}, "problem decoding transaction: unsupported encoding in method"),
        ({}, "couldn't parse tx: couldn't parse tx: couldn't unpack codec version"),
        ({"tx": ""}, "couldn't parse tx: couldn't parse tx: couldn't unpack codec version"),
        ({"tx": encode(b"\0\1")}, "couldn't parse tx: couldn't parse tx: unknown codec version"),
    ],
)  # fmt: skip
def test_malformed_transaction_is_refused(rpc: Rpc, params: dict[str, Any], words: str) -> None:
    assert refusal(rpc, "platform.issueTx", **params).startswith(words)


def test_garbled_cut_and_lengthened_bytes(pchain: PChain, rpc: Rpc) -> None:
    raw = pchain.make().raw
    for bad in (raw[:-1], raw + b"\0", raw[:30], b"\0\0" + b"\xff" * 60):
        words = refusal(rpc, "platform.issueTx", tx=encode(bad))
        assert words.startswith("couldn't parse tx: couldn't parse tx: ")
    huge = encode(raw + bytes(300_000))
    assert refusal(rpc, "platform.issueTx", tx=huge).startswith(
        "couldn't parse tx: couldn't parse tx: byte array exceeds maximum length"
    )


def test_export_to_an_absent_chain_is_refused(pchain: PChain, rpc: Rpc, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, chains=("P", "C"))
    tx = export(pchain, pchain.network.x_chain_id)

    assert refusal(rpc, "platform.issueTx", tx=encode(tx.raw)) == (
        "couldn't issue tx: this node runs no X-Chain (NODE_CHAINS), so the coins that "
        f"{tx.tx_id} exports could not be imported"
    )
    assert rpc("platform.getTxStatus", txID=str(tx.tx_id)) == {"status": "Unknown"}
    assert pchain.build() == []


def test_refusal_has_the_rules_message_and_is_stored(pchain: PChain, rpc: Rpc) -> None:
    tx = pchain.make(network_id=5)

    assert refusal(rpc, "platform.issueTx", tx=encode(tx.raw)) == (
        "couldn't issue tx: tx has wrong network ID"
    )
    assert rpc("platform.getTxStatus", txID=str(tx.tx_id)) == {
        "status": "Dropped",
        "reason": "tx has wrong network ID",
    }


def test_two_that_spend_the_same(pchain: PChain, rpc: Rpc) -> None:
    first, second = pchain.make(), pchain.make(memo=b"another")
    same = build(
        platform.unsigned(BaseTx, inputs=first.unsigned.inputs, outputs=second.unsigned.outputs),
        first.credentials,
    )  # fmt: skip

    rpc("platform.issueTx", tx=encode(first.raw))
    assert refusal(rpc, "platform.issueTx", tx=encode(same.raw)) == (
        f"couldn't issue tx: tx conflicts with other tx: {same.tx_id}"
    )
    assert rpc("platform.getTxStatus", txID=str(same.tx_id)) == {"status": "Unknown"}


def test_a_wrong_signature(pchain: PChain, rpc: Rpc) -> None:
    unsigned = pchain.make().unsigned
    stolen = platform.signed(unsigned)
    assert refusal(rpc, "platform.issueTx", tx=encode(stolen.raw)).startswith("couldn't issue tx: ")


def test_many_submissions_are_one_commit(pchain: PChain, monkeypatch) -> None:
    txs = [pchain.make(), pchain.make(network_id=5)]
    commits = []
    real = mempool.issue

    def issue(chain: Any, issued: Any, **options: Any) -> Any:
        commits.append(len(issued))
        return real(chain, issued, **options)

    monkeypatch.setattr(mempool, "issue", issue)
    texts = [*(encode(tx.raw) for tx in txs), "0x"]
    bodies = [
        Body(
            json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": place,
                    "method": "platform.issueTx",
                    "params": {"tx": text},
                }
            ).encode()
        )
        for place, text in enumerate(texts)
    ]
    dispatcher = this_node().endpoints.platform.dispatcher
    assert all(map(dispatcher.gathered_as, bodies))
    requests = [body.content for body in bodies if isinstance(body.content, RpcCall)]
    answers = [json.loads(answer or b"") for answer in dispatcher.batches.run_together(requests)]

    assert commits == [2]
    assert [answer["id"] for answer in answers] == [0, 1, 2]
    assert answers[0]["result"] == {"txID": str(txs[0].tx_id)}
    assert answers[1]["error"]["message"] == "couldn't issue tx: tx has wrong network ID"
    assert answers[2]["error"]["message"] == (
        "problem decoding transaction: input string is smaller than the checksum size"
    )


@pytest.mark.parametrize("params", [{"tx": 5}, {"tx": "0x", "encoding": "cb58"}, {"tx": ["0x"]}])
def test_arguments_of_another_form(rpc: Rpc, params: dict[str, Any]) -> None:
    with pytest.raises(JsonRpcError, match="couldn't unmarshal an argument"):
        rpc("platform.issueTx", **params)


@pytest.mark.node_settings(bootstrap=("127.0.0.1:9651",))
def test_users_issue_nothing_until_the_chain_is_bootstrapped(pchain: PChain, rpc: Rpc) -> None:
    tx = pchain.make()
    text, refused = encode(tx.raw), "couldn't issue tx: chain not synced"
    assert refusal(rpc, "platform.issueTx", tx=text) == refused
    network_rows.report()
    network_rows.sync("P", phase=SyncPhase.BOOTSTRAPPING)
    assert refusal(rpc, "platform.issueTx", tx=text) == refused
    assert rpc("platform.getTxStatus", txID=str(tx.tx_id)) == {"status": "Unknown"}

    network_rows.sync("P")
    assert rpc("platform.issueTx", tx=text) == {"txID": str(tx.tx_id)}
