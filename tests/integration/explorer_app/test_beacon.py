"""The paths of the Beacon API: blobs of a block as JSON and SSZ, by number, hash and tag; the genesis; refusals."""

from http import HTTPStatus
from typing import Any

import pytest
from django.test import Client

from cchain_app.store import blobs as rows
from tests.builders.blobs import OTHER_BLOB, ZERO_BLOB, ZERO_HASH, sent_blobs
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

BLOBS = "/eth/v1/beacon/blobs"
SSZ = "application/octet-stream"
JSON = "application/json"
UNKNOWN = "0x" + "ab" * 32


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


def refused(client: Client, path: str, status: HTTPStatus) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    body = answer.json()
    assert body["code"] == status.value
    text: str = body["message"]
    return text


@pytest.fixture
def mined(rpc: Rpc, chain: Chain) -> Any:
    """The block with two transactions, of two blobs and of one."""
    for count in (2, 1):
        assert rpc("eth_sendRawTransaction", hexed(sent_blobs(count, nonce=chain.nonce).raw))
        chain.nonce += 1
    chain.mine()
    return rpc("eth_getBlockByNumber", "latest", False)


def test_the_blobs_of_a_block_are_read_by_number_hash_and_tag(
    mined: Any, chain: Chain, client: Client
) -> None:
    number = int(mined["number"], 16)
    whole = {
        "execution_optimistic": False,
        "finalized": False,
        "data": [hexed(ZERO_BLOB)] * 3,
    }
    for block in (str(number), mined["number"], mined["hash"], "head", "latest", "finalized"):
        answer = client.get(f"{BLOBS}/{block}")
        assert answer.status_code == HTTPStatus.OK
        assert answer.json() == whole
    for block in ("0", "genesis", "earliest"):
        assert client.get(f"{BLOBS}/{block}").json() == whole | {"data": []}
    chain.mine()
    assert client.get(f"{BLOBS}/head").json()["data"] == []


def test_versioned_hashes_select_blobs(chain: Chain, client: Client, rpc: Rpc) -> None:
    first = "0x" + "f3" * 20
    accounts = rpc("eth_accounts")
    other = {"from": accounts[0], "to": first, "blobs": [hexed(OTHER_BLOB), hexed(ZERO_BLOB)]}
    sent = rpc("eth_sendTransaction", other)
    chain.mine()
    hashes = rpc("eth_getTransactionByHash", sent)["blobVersionedHashes"]
    both = [hexed(OTHER_BLOB), hexed(ZERO_BLOB)]

    def chosen(query: str) -> list[str]:
        data: list[str] = client.get(f"{BLOBS}/head?{query}").json()["data"]
        return data

    assert hashes[1] == hexed(ZERO_HASH)
    assert chosen(f"versioned_hashes={hashes[0]}") == both[:1]
    assert chosen(f"versioned_hashes={hashes[1]},{hashes[0]}") == both
    assert chosen(f"versioned_hashes={hashes[1]}&versioned_hashes={UNKNOWN}") == both[1:]
    assert chosen(f"versioned_hashes={UNKNOWN}") == []
    assert chosen("") == both


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        (SSZ, SSZ),
        (f"application/json;q=0.9, {SSZ}", SSZ),
        (f"text/html, {SSZ} ; q=0.6, application/json ; q=0.5", SSZ),
        (f"{SSZ};q=0.5,application/json;q=0.5", JSON),
        ("application/json", JSON),
        ("*/*", JSON),
    ],
)
def test_ssz_is_answered_if_it_is_preferred(
    mined: Any, client: Client, accept: str, kind: str
) -> None:
    answer = client.get(f"{BLOBS}/head", headers={"accept": accept})
    assert answer["Content-Type"] == kind
    if kind == SSZ:
        assert answer.content == ZERO_BLOB * 3
    else:
        assert answer.json()["data"] == [hexed(ZERO_BLOB)] * 3


def test_wrong_blocks_and_hashes_are_refused(mined: Any, client: Client) -> None:
    for block in ("first", "0x", "-1", "0xg", "1" * 40, "0x" + "1" * 40):
        text = refused(client, f"{BLOBS}/{block}", HTTPStatus.BAD_REQUEST)
        assert text == f"Invalid block ID: {block}"
    for block in ("9999999", UNKNOWN, str(2**62)):
        text = refused(client, f"{BLOBS}/{block}", HTTPStatus.NOT_FOUND)
        assert text == "Block not found"
    text = refused(client, f"{BLOBS}/head?versioned_hashes=0x12", HTTPStatus.BAD_REQUEST)
    assert text == "Invalid versioned hash: 0x12"


def test_sidecars_endpoint_is_gone(mined: Any, client: Client) -> None:
    text = refused(client, "/eth/v1/beacon/blob_sidecars/head", HTTPStatus.GONE)
    assert "Use `GET /eth/v1/beacon/blobs/{block_id}` instead" in text


def test_deleted_blobs_are_never_a_shorter_list(mined: Any, chain: Chain, client: Client) -> None:
    assert rows.delete_before(chain.evm.db, 2**60, 2) == 2
    text = refused(client, f"{BLOBS}/head", HTTPStatus.NOT_FOUND)
    assert text == (
        f"2 of the 3 blobs of block {int(mined['number'], 16)} are no longer kept (NODE_HISTORY_BLOBS)"
    )


def test_the_genesis_has_the_time_of_the_first_block(chain: Chain, client: Client) -> None:
    assert client.get("/eth/v1/beacon/genesis").json() == {
        "data": {
            "genesis_time": str(chain.genesis.header.timestamp),
            "genesis_validators_root": "0x" + "00" * 32,
            "genesis_fork_version": "0x00000000",
        }
    }
