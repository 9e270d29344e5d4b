"""The methods avax.*: outputs that wait, issuing, status, and the methods with a user's keys (atomic.md 10)."""

import json
from typing import Any

import pytest

from cchain_app.services import atomic
from nodeproject.apps import this_node
from platform_app.config import UNIT
from platform_app.wallet import sealing
from platform_app.wallet.sealing import Cost
from primitives.addresses import format_address
from primitives.checksummed import TextEncoding, encode
from primitives.hexadecimal import checksum_address
from primitives.ids import ID, P_CHAIN_ID
from primitives.keys import EWOQ_KEY, format_private_key
from tests.integration.cchain_app.atomic.conftest import EWOQ_ACCOUNT, EWOQ_ADDRESS, TO, Both
from tests.integration.platform_app.conftest import Rpc, asking, refusal

OWNER = format_address("C", "local", EWOQ_ADDRESS)
USER = {"username": "alice", "password": "a long and varied passphrase 7"}
NOBODY = format_address("C", "local", type(EWOQ_ADDRESS)(bytes(20)))


@pytest.fixture
def alice(both: Both, avax: Rpc, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A user of the keystore with ewoq's key."""
    del both
    monkeypatch.setattr(sealing, "COST", Cost(passes=1, memory=64, lanes=4))
    keystore = asking(this_node().endpoints.keystore.dispatcher)
    keystore("keystore.createUser", **USER)
    shown = avax("avax.importKey", **USER, privateKey=format_private_key(EWOQ_KEY))
    assert shown == {"address": checksum_address(EWOQ_ACCOUNT)}
    return USER


def test_pages_of_the_outputs_that_wait(both: Both, avax: Rpc) -> None:
    assert avax("avax.getUTXOs", addresses=[OWNER], sourceChain="P") == {
        "numFetched": "0",
        "utxos": [],
        "endIndex": {"address": NOBODY, "utxo": str(ID(bytes(32)))},
        "encoding": "hex",
    }
    for amount in (1, 2, 3):
        both.exported_to_c(amount * UNIT)
    first = avax("avax.getUTXOs", addresses=[OWNER], sourceChain="P", limit=2)
    by_id = {"addresses": [str(EWOQ_ADDRESS)], "sourceChain": str(P_CHAIN_ID)}
    rest = avax("avax.getUTXOs", **by_id, startIndex=first["endIndex"])
    assert (first["numFetched"], rest["numFetched"]) == ("2", "1")
    assert len({*first["utxos"], *rest["utxos"]}) == 3
    assert avax("avax.getUTXOs", addresses=[OWNER], sourceChain="X")["utxos"] == []
    assert refusal(avax, "avax.getUTXOs", **by_id, encoding="json") == (
        "problem encoding utxo: unsupported encoding in method"
    )


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "no addresses provided"),
        ({"addresses": [OWNER]}, "no source chain provided"),
        (
            {"addresses": [OWNER] * 1025, "sourceChain": "P"},
            "number of addresses given, 1025, exceeds maximum, 1024",
        ),
        (
            {"addresses": [OWNER], "sourceChain": "Q"},
            'problem parsing source chainID "Q": there is no ID with alias: Q',
        ),
        (
            {"addresses": ["C-avax1"], "sourceChain": "P"},
            'couldn\'t parse address "C-avax1": ',
        ),
        (
            {"addresses": [format_address("C", "avax", EWOQ_ADDRESS)], "sourceChain": "P"},
            'couldn\'t parse address "C-avax18jma8ppw3nhx5r4ap8clazz0dps7rv5ukulre5": '
            'expected hrp "local" but got "avax"',
        ),
        (
            {"addresses": [OWNER], "sourceChain": "P", "startIndex": {"address": "x"}},
            'couldn\'t parse start index address "x": no separator found in address',
        ),
        (
            {
                "addresses": [OWNER],
                "sourceChain": "P",
                "startIndex": {"address": OWNER, "utxo": "!"},
            },
            "couldn't parse start index utxo: ",
        ),
    ],
)
def test_invalid_utxo_query_is_refused(avax: Rpc, params: dict[str, Any], words: str) -> None:
    assert refusal(avax, "avax.getUTXOs", **params).startswith(words)


def test_an_address_of_another_chain_is_refused(both: Both, avax: Rpc) -> None:
    other = format_address("P", "local", EWOQ_ADDRESS)
    assert refusal(avax, "avax.getUTXOs", addresses=[other], sourceChain="P") == (
        f'couldn\'t parse address "{other}": expected chainID to be '
        f'"{both.p.network.c_chain_id}" but was "{P_CHAIN_ID}"'
    )


@pytest.mark.parametrize("encoding", [TextEncoding.HEX, TextEncoding.HEXNC])
def test_a_transaction_is_issued_and_found(both: Both, avax: Rpc, encoding: TextEncoding) -> None:
    both.exported_to_c(UNIT)
    tx = both.make_import()
    tx_id = str(tx.tx_id)
    assert avax("avax.getAtomicTxStatus", txID=tx_id) == {"status": "Unknown"}
    assert refusal(avax, "avax.getAtomicTx", txID=tx_id) == f"could not find tx {tx_id}"

    assert avax("avax.issueTx", tx=encode(tx.raw, encoding)) == {"txID": tx_id}
    assert avax("avax.getAtomicTxStatus", txID=tx_id) == {"status": "Processing"}
    waiting = avax("avax.getAtomicTx", txID=tx_id)
    assert waiting == {"tx": encode(tx.raw, TextEncoding.HEX), "encoding": "hex"}

    block = both.c.mine()
    height = str(block.number)
    assert avax("avax.getAtomicTxStatus", txID=tx_id) == {
        "status": "Accepted",
        "blockHeight": height,
    }
    shown = avax("avax.getAtomicTx", txID=tx_id, encoding="json")
    assert shown["blockHeight"] == height
    assert json.loads(shown["tx"])["id"] == tx_id


def test_invalid_atomic_transaction_is_refused(both: Both, avax: Rpc) -> None:
    assert refusal(avax, "avax.getAtomicTxStatus") == "nil transaction ID"
    assert refusal(avax, "avax.issueTx", tx="zz").startswith("problem decoding transaction: ")
    garbled = encode(b"\0\0\0\0\0\7", TextEncoding.HEX)
    assert refusal(avax, "avax.issueTx", tx=garbled).startswith("problem parsing transaction: ")
    both.exported_to_c(UNIT)
    cheap = both.make_import(base_fee=1)
    both.do(both.make_import())
    assert refusal(avax, "avax.issueTx", tx=encode(cheap.raw, TextEncoding.HEX)).startswith(
        "import tx flow check failed due to: insufficient funds"
    )


def test_dropped_transactions_are_shown_with_their_bytes(both: Both, avax: Rpc) -> None:
    both.exported_to_c(UNIT)
    cheap = both.make_import()
    atomic.issue(both.c.evm, cheap)
    atomic.issue(both.c.evm, both.make_import(base_fee=10**12))
    assert avax("avax.getAtomicTxStatus", txID=str(cheap.tx_id)) == {"status": "Dropped"}
    assert "blockHeight" not in avax("avax.getAtomicTx", txID=str(cheap.tx_id))


def test_a_user_moves_coins_there_and_back(both: Both, avax: Rpc, alice: dict[str, str]) -> None:
    both.exported_to_c(5 * UNIT)
    issued = avax("avax.import", **alice, to=checksum_address(TO), sourceChain="P")
    both.c.mine()
    assert avax("avax.getAtomicTxStatus", **issued)["status"] == "Accepted"
    assert both.balance(TO) > 4 * UNIT * 10**12

    to = format_address("P", "local", EWOQ_ADDRESS)
    issued = avax("avax.exportAVAX", **alice, amount=UNIT, to=to, baseFee="0x174876e800")
    both.c.mine()
    assert avax("avax.getAtomicTxStatus", **issued)["status"] == "Accepted"
    platform = asking(this_node().endpoints.platform.dispatcher)
    imported = platform("platform.importAVAX", **alice, sourceChain="C", to=to)
    both.p.wait(1)
    assert platform("platform.getTxStatus", txID=imported["txID"]) == {"status": "Committed"}


def test_refusals_of_the_methods_with_keys(both: Both, avax: Rpc, alice: dict[str, str]) -> None:
    del both
    to = format_address("P", "local", EWOQ_ADDRESS)
    assert refusal(avax, "avax.importKey", **alice) == "argument 'privateKey' not given"
    assert refusal(avax, "avax.export", **alice, to=to) == "assetID is required"
    assert refusal(avax, "avax.exportAVAX", **alice, to=to) == "argument 'amount' must be > 0"
    poor = refusal(avax, "avax.exportAVAX", **alice, amount=2**63, to=to)
    assert poor == "couldn't create tx: couldn't generate tx inputs/signers: insufficient funds"
    nothing = refusal(avax, "avax.import", **alice, to=checksum_address(TO), sourceChain="P")
    assert nothing == "insufficient AVAX funds to pay transaction fee"
    wrong = {**alice, "password": "another long passphrase 9"}
    assert "password" in refusal(avax, "avax.exportAVAX", **wrong, amount=1, to=to)
    other = checksum_address(TO)
    assert refusal(avax, "avax.exportKey", **alice, address=other).startswith(
        "problem retrieving private key"
    )


def test_users_issue_nothing_until_the_chain_is_bootstrapped(
    both: Both, avax: Rpc, monkeypatch: pytest.MonkeyPatch
) -> None:
    both.exported_to_c(UNIT)
    tx = both.make_import()
    with monkeypatch.context() as bootstrapping:
        bootstrapping.setattr(both.c.evm, "is_synced", lambda: False)
        assert refusal(avax, "avax.issueTx", tx=encode(tx.raw)) == "chain not synced"
        atomic.issue(both.c.evm, tx, gossiped=True)  # peers do
    assert avax("avax.issueTx", tx=encode(tx.raw)) == {"txID": str(tx.tx_id)}
    both.c.mine()
