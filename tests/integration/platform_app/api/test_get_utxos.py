"""platform.getUTXOs."""

from typing import Any

import pytest
from django.db import transaction

from jsonrpc.errors import JsonRpcError
from platform_app.apps import platform_chain
from platform_app.config import UNIT
from platform_app.txs.base import BaseTx
from platform_app.txs.codec import CODEC
from primitives.addresses import format_address
from primitives.checksummed import TextEncoding, decode
from primitives.ids import EMPTY_ID, ShortID
from tests.builders.platform import ADDRESSES, utxo
from tests.builders.shared_outputs import receive
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, refusal
from utxo.components import UTXO

FIRST, SECOND, NOBODY = ADDRESSES[:3]
EWOQ_TEXT = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"


def text(address: ShortID) -> str:
    return format_address("P", "local", address)


def ids_of(answer: dict[str, Any], encoding: TextEncoding = TextEncoding.HEX) -> list[str]:
    """Return the IDs of the UTXOs in a response, decoded as a client does."""
    assert answer["numFetched"] == str(len(answer["utxos"]))
    return [str(CODEC.unmarshal(UTXO, decode(item, encoding)).utxo_id) for item in answer["utxos"]]


def test_utxos_of_an_address(pchain: PChain, rpc: Rpc) -> None:
    answer = rpc("platform.getUTXOs", addresses=[EWOQ_TEXT], limit=5)

    coins = sorted(item.utxo_id for item in pchain.coins())
    assert ids_of(answer) == [str(coin) for coin in coins]
    assert answer["numFetched"] == "2"
    assert answer["endIndex"] == {"address": EWOQ_TEXT, "utxo": str(coins[-1])}
    assert answer["encoding"] == "hex"


@pytest.mark.parametrize(("name", "shown"), [("hex", "hex"), ("HexNC", "hexnc"), ("hexc", "hexc")])
def test_encodings(pchain: PChain, rpc: Rpc, name: str, shown: str) -> None:
    answer = rpc("platform.getUTXOs", addresses=[EWOQ_TEXT], encoding=name)

    assert answer["encoding"] == shown
    assert len(ids_of(answer, TextEncoding(shown))) == 2


@pytest.mark.parametrize("source", ["P", "X"])
def test_a_search_without_outputs_ends_at_the_last_address(
    pchain: PChain, rpc: Rpc, source: str
) -> None:
    both = sorted([NOBODY, SECOND])
    asked = {"addresses": [text(item) for item in reversed(both)], "sourceChain": source}
    nothing = {
        "numFetched": "0",
        "utxos": [],
        "endIndex": {"address": text(both[1]), "utxo": str(EMPTY_ID)},
        "encoding": "hex",
    }

    assert rpc("platform.getUTXOs", **asked, startIndex=None, limit=None) == nothing
    assert rpc("platform.getUTXOs", **asked, startIndex=nothing["endIndex"]) == nothing


def test_a_search_that_ends_at_an_address_without_outputs_names_it(
    pchain: PChain, rpc: Rpc
) -> None:
    """As in avalanchego, the end of a search is the last UTXO found on this chain, and the empty ID for shared ones."""
    owner, other = sorted([NOBODY, SECOND])
    sent = utxo(5, owner, number=3, asset_id=pchain.asset_id)
    pchain.do(pchain.make(BaseTx, pchain.output(UNIT, owner)))
    with transaction.atomic():
        receive(platform_chain().db, pchain.network.x_chain_id, [sent], height=7)

    def end_of(source: str) -> dict[str, str]:
        asked = {"addresses": [text(owner), text(other)], "sourceChain": source}
        end: dict[str, str] = rpc("platform.getUTXOs", **asked)["endIndex"]
        return end

    (own,) = pchain.coins(owner)
    assert end_of("P") == {"address": text(other), "utxo": str(own.utxo_id)}
    assert end_of("X") == {"address": text(other), "utxo": str(EMPTY_ID)}


def test_pages_follow_one_another_until_one_is_not_full(pchain: PChain, rpc: Rpc) -> None:
    for number in range(5):
        pchain.do(pchain.make(BaseTx, pchain.output(UNIT + number, FIRST)))
    pchain.do(pchain.make(BaseTx, pchain.output(9, SECOND), pchain.output(8, SECOND)))
    asked = {"addresses": [text(SECOND), text(FIRST)], "limit": "3"}
    pages, start = [], {}
    while True:
        page = rpc("platform.getUTXOs", **asked, **start)
        pages.append(ids_of(page))
        if int(page["numFetched"]) < 3:
            break
        start = {"startIndex": page["endIndex"]}

    found = [item for page in pages for item in page]
    assert [len(page) for page in pages] == [3, 3, 1]
    of_first, of_second = (
        sorted(coin.utxo_id for coin in pchain.coins(who)) for who in (FIRST, SECOND)
    )
    assert found == [str(other) for other in (*of_first, *of_second)]


@pytest.mark.parametrize("limit", [0, 1025, 2**32 - 1])
def test_a_page_has_1024_at_most(pchain: PChain, rpc: Rpc, limit: int, monkeypatch) -> None:
    from platform_app.api import utxos

    asked = []
    real = utxos.outputs.utxos_of

    def seen(*args: Any, **named: Any) -> Any:
        asked.append(named["limit"])
        return real(*args, **named)

    monkeypatch.setattr(utxos.outputs, "utxos_of", seen)
    rpc("platform.getUTXOs", addresses=[EWOQ_TEXT], limit=limit)
    assert asked == [1024]


@pytest.mark.parametrize("alias", ["X", "avm", None])
def test_utxos_from_another_chain(pchain: PChain, rpc: Rpc, alias: str | None) -> None:
    x_chain = pchain.network.x_chain_id
    sent = utxo(5, FIRST, number=3, asset_id=pchain.asset_id)
    with transaction.atomic():
        receive(platform_chain().db, x_chain, [sent], height=7)

    params = {"addresses": [text(FIRST)], "sourceChain": alias or str(x_chain)}
    assert ids_of(rpc("platform.getUTXOs", **params)) == [str(sent.utxo_id)]
    assert ids_of(rpc("platform.getUTXOs", **{**params, "sourceChain": "C"})) == []
    assert ids_of(rpc("platform.getUTXOs", **{**params, "sourceChain": "P"})) == []
    assert ids_of(rpc("platform.getUTXOs", addresses=[text(FIRST)])) == []


def test_refusals(pchain: PChain, rpc: Rpc) -> None:
    def why(**params: Any) -> str:
        return refusal(rpc, "platform.getUTXOs", **params)

    assert why() == "no addresses provided"
    assert why(addresses=[]) == "no addresses provided"
    assert why(addresses=["x"] * 1025) == ("number of addresses given, 1025, exceeds maximum, 1024")
    assert why(addresses=["x"]) == ('couldn\'t parse address "x": no separator found in address')
    assert why(addresses=[EWOQ_TEXT], sourceChain="Z") == (
        'problem parsing source chainID "Z": there is no ID with alias: Z'
    )
    assert why(addresses=[EWOQ_TEXT], startIndex={"address": "x", "utxo": "y"}) == (
        'couldn\'t parse start index address "x": couldn\'t parse address "x": '
        "no separator found in address"
    )
    assert why(addresses=[EWOQ_TEXT], startIndex={"address": EWOQ_TEXT, "utxo": "0"}) == (
        "couldn't parse start index utxo: base58 decoding error: invalid character '0'"
    )
    first = min(coin.utxo_id for coin in pchain.coins())
    words = why(addresses=[EWOQ_TEXT], encoding="json")
    assert words == f"couldn't encode UTXO {first} as json: unsupported encoding in method"


@pytest.mark.parametrize(
    "params",
    [
        {"addresses": "x"}, {"addresses": [5]}, {"limit": -1}, {"limit": 1.5}, {"limit": 2**32},
        {"limit": True}, {"startIndex": []}, {"startIndex": {"utxo": 5}}, {"encoding": "cb58"},
        {"sourceChain": 5},
    ],
)  # fmt: skip
def test_arguments_of_another_form(rpc: Rpc, params: dict[str, Any]) -> None:
    with pytest.raises(JsonRpcError, match="couldn't unmarshal an argument"):
        rpc("platform.getUTXOs", **{"addresses": [EWOQ_TEXT], **params})


def test_the_owner_of_all_is_the_genesis_key(pchain: PChain) -> None:
    assert text(EWOQ) == EWOQ_TEXT
