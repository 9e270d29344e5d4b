"""The X-Chain's methods that act with keys of the node's keystore."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from jsonrpc.dispatch.caller import Caller
from jsonrpc.dispatch.dialects import GORILLA
from jsonrpc.dispatch.dispatcher import Dispatcher
from primitives.keys import EWOQ_KEY, VMRQ_KEY, address_of, format_private_key
from shared_app.models import SharedOutput
from tests.builders.xchain import world_chain, x_chain
from xchain_app import api
from xchain_app.api import AvmRpc
from xchain_app.chain import AvmChain
from xchain_app.models import XOutput, XOutputKind
from xchain_app.services.runtime import AvmRuntime

pytestmark = pytest.mark.django_db(transaction=True)

NOW = 1_796_000_000
ALICE = {"username": "alice", "password": "secret"}
EWOQ = "X-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
OTHER = "X-local1g65uqn6t77p656w64023nh8nd9updzmxyymev2"
Ask = Callable[..., Any]


class FakeKeystore:
    """A keystore with one user."""

    def __init__(self, *keys: bytes) -> None:
        self.keys = list(keys)

    @staticmethod
    def guard(_caller: Caller, _arguments: Sequence[Any]) -> None:
        """Let everybody in."""

    def keys_of(self, username: str, password: str) -> list[bytes]:
        """Return the keys."""
        assert {"username": username, "password": password} == ALICE
        return list(self.keys)

    def import_key(self, username: str, password: str, key: bytes) -> None:
        """Add a key."""
        assert {"username": username, "password": password} == ALICE
        self.keys.append(key)


def asking(chain: AvmChain, keystore: FakeKeystore, runtime: AvmRuntime) -> Ask:
    dispatcher = Dispatcher(api.registry(AvmRpc(chain, keystore)), GORILLA)

    def ask(method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": f"avm.{method}", "params": ALICE | params}
        answer = json.loads(dispatcher.answer(json.dumps(body).encode()) or b"")
        if "error" in answer:
            return answer["error"]["message"]
        while runtime.consensus.produce(now=NOW) is not None:
            pass
        return answer["result"]

    return ask


def made(chain: AvmChain, *keys: bytes) -> Ask:
    return asking(chain, FakeKeystore(*keys), AvmRuntime(chain))


def test_keys_of_a_user() -> None:
    ask = made(x_chain(), EWOQ_KEY)

    assert ask("listAddresses") == {"addresses": [EWOQ]}
    assert ask("importKey", privateKey=format_private_key(VMRQ_KEY)) == {"address": OTHER}
    created = ask("createAddress")["address"]
    assert ask("listAddresses") == {"addresses": [EWOQ, OTHER, created]}
    assert ask("exportKey", address=OTHER) == {"privateKey": format_private_key(VMRQ_KEY)}
    assert ask("importKey") == "argument 'privateKey' not given"
    assert ask("exportKey", address="X-local1uvxt89nxf4jntzkazk3y38ej2256x6y465kuc4") == (
        "problem retrieving private key: not found"
    )


def test_coins_are_sent_with_a_memo_and_change() -> None:
    ask = made(x_chain(), EWOQ_KEY)

    sent = ask("send", amount=5, assetID="AVAX", to=OTHER, memo="hello")

    assert sent["changeAddr"] == EWOQ
    assert ask("getBalance", address=OTHER, assetID="AVAX")["balance"] == "5"
    assert ask("getBalance", address=EWOQ, assetID="AVAX")["balance"] == str(
        300_000_000_000_000_000 - 1_000_000 - 5
    )
    assert ask("getTx", txID=sent["txID"], encoding="json")["tx"]["unsignedTx"]["memo"] == (
        "0x" + b"hello".hex()
    )
    outputs = [{"assetID": "AVAX", "amount": amount, "to": OTHER} for amount in (7, 8)]
    assert ask("sendMultiple", outputs=outputs)["changeAddr"] == EWOQ
    assert ask("getBalance", address=OTHER, assetID="AVAX")["balance"] == "20"
    listed = ask("getAddressTxs", address=OTHER, assetID="AVAX")
    assert listed["txIDs"][0] == sent["txID"]
    assert listed["cursor"] == "2"


def test_assets_are_created_minted_and_moved() -> None:
    ask = made(x_chain(), EWOQ_KEY)
    minters = [{"minters": [EWOQ], "threshold": 1}]

    coin = ask(
        "createAsset", name="Example coin", symbol="EXA", denomination=2, minterSets=minters,
        initialHolders=[{"amount": 1_000, "address": EWOQ}],
    )["assetID"]  # fmt: skip
    assert ask("getAssetDescription", assetID=coin)["denomination"] == "2"
    ask("mint", amount=50, assetID=coin, to=OTHER)
    ask("mint", amount=50, assetID=coin, to=OTHER)
    ask("send", amount=100, assetID=coin, to=OTHER)
    assert ask("getBalance", address=OTHER, assetID=coin)["balance"] == "200"
    assert ask("getBalance", address=EWOQ, assetID=coin)["balance"] == "900"

    pictures = ask("createNFTAsset", name="Pictures", symbol="PICS", minterSets=minters)["assetID"]
    ask("mintNFT", assetID=pictures, payload="0x0102", encoding="hexnc", to=EWOQ)
    assert ask("sendNFT", assetID=pictures, groupID=0, to=OTHER)["changeAddr"] == EWOQ
    (piece,) = XOutput.objects.filter(kind=XOutputKind.COLLECTIBLE, spent_by=None)
    assert bytes(piece.payload or b"") == b"\1\2"
    # a right to mint collectibles is used up by one operation
    assert ask("mintNFT", assetID=pictures, payload="", to=EWOQ) == (
        "provided addresses don't have the authority to mint the provided asset"
    )
    assert ask("sendNFT", assetID=pictures, groupID=0, to=OTHER) == "insufficient funds"


def test_coins_move_to_and_from_another_chain() -> None:
    chain = world_chain()
    ask = made(chain, EWOQ_KEY)
    before = int(ask("getBalance", address=EWOQ, assetID="AVAX")["balance"])

    assert ask("import", sourceChain="P", to=EWOQ).keys() == {"txID"}
    assert int(ask("getBalance", address=EWOQ, assetID="AVAX")["balance"]) > before
    sent = ask("export", amount=9, assetID="AVAX", to="P" + OTHER[1:])

    assert sent["changeAddr"] == EWOQ
    (exported,) = SharedOutput.objects.filter(source_chain=chain.blockchain_id)
    assert (exported.amount, exported.threshold) == (9, 1)


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("sendMultiple", {}, "no outputs to send"),
        ("send", {"assetID": "AVAX", "to": OTHER}, "amount must be positive"),
        ("send", {"amount": 1, "assetID": "NOPE", "to": OTHER}, "asset 'NOPE' not found"),
        (
            "send", {"amount": 1, "assetID": "AVAX", "to": "oh"},
            'problem parsing to address "oh": couldn\'t parse address "oh": no separator found in address',
        ),
        (
            "send", {"amount": 1, "assetID": "AVAX", "to": OTHER, "memo": "m" * 257},
            "max memo length is 256 but provided memo field is length 257",
        ),
        (
            "send", {"amount": 1, "assetID": "AVAX", "to": OTHER, "from": [OTHER]},
            "from addresses have no keys or funds",
        ),
        ("createAsset", {"name": "A", "symbol": "A"}, "no minters or initialHolders provided"),
        ("createNFTAsset", {"name": "A", "symbol": "A"}, "no minters provided"),
        ("mint", {"assetID": "AVAX", "to": OTHER}, "amount minted must be positive"),
        (
            "import", {"sourceChain": "Q", "to": OTHER},
            'problem parsing chainID "Q": there is no ID with alias: Q',
        ),
        ("export", {"assetID": "AVAX", "to": "P" + OTHER[1:]}, "amount must be positive"),
    ],
)  # fmt: skip
def test_refusals(method: str, params: dict[str, Any], message: str) -> None:
    assert made(x_chain(), EWOQ_KEY)(method, **params) == message


def test_payment_without_funds_is_refused() -> None:
    ask = made(x_chain(), VMRQ_KEY)

    assert ask("send", amount=1, assetID="AVAX", to=EWOQ).startswith("want to spend 1000001 of")
    assert address_of(VMRQ_KEY) != address_of(EWOQ_KEY)
