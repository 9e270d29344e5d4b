"""eth_getLogs over blocks in memory: ranges, matching and limits."""

import pytest

from jsonrpc.errors import JsonRpcError
from tests.builders.accepted import EMITTER, OTHER_TOPIC, TOPIC, log
from tests.builders.node_settings import updated
from tests.builders.transactions import signed

OTHER = b"\xe2" * 20


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture
def blocks(memory_chain):
    """Blocks 1 to 4 with 2, 0, 1 and 1 logs."""
    chain = memory_chain
    one = [log(TOPIC), log(OTHER_TOPIC, TOPIC, address=OTHER)]
    return [
        chain.accept(signed(), logs=[one]),
        chain.accept(),
        chain.accept(signed(nonce=1), signed(nonce=2), logs=[[], [log()]]),
        chain.accept(signed(nonce=3), logs=[[log(TOPIC, OTHER_TOPIC)]]),
    ]


def numbers(found):
    return [int(item["blockNumber"], 16) for item in found]


WHOLE = {"fromBlock": "earliest", "toBlock": "latest"}


def test_logs_of_a_range_are_in_chain_order(rpc, blocks):
    found = rpc("eth_getLogs", WHOLE)
    assert numbers(found) == [1, 1, 3, 4]
    assert [item["logIndex"] for item in found] == ["0x0", "0x1", "0x0", "0x0"]
    assert [other["transactionIndex"] for other in found] == ["0x0", "0x0", "0x1", "0x0"]


def test_without_a_range_only_the_head_is_searched(rpc, blocks):
    assert numbers(rpc("eth_getLogs", {})) == [4]


def test_without_an_end_the_head_is_the_end(rpc, blocks):
    assert numbers(rpc("eth_getLogs", {"fromBlock": "0x2"})) == [3, 4]


def test_one_block_is_searched_by_its_hash(rpc, blocks):
    assert numbers(rpc("eth_getLogs", {"blockHash": hexed(blocks[0].hash)})) == [1, 1]
    assert rpc("eth_getLogs", {"blockHash": hexed(blocks[1].hash)}) == []


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"address": hexed(OTHER)}, [1]),
        ({"address": [hexed(OTHER), hexed(EMITTER)]}, [1, 1, 3, 4]),
        ({"topics": [hexed(TOPIC)]}, [1, 4]),
        ({"topics": [[hexed(TOPIC), hexed(OTHER_TOPIC)]]}, [1, 1, 4]),
        ({"topics": [None, hexed(TOPIC)]}, [1]),
        ({"topics": [hexed(TOPIC), None]}, [4]),
        ({"topics": [None, None]}, [1, 4]),
        ({"topics": [None]}, [1, 1, 4]),
        ({"topics": []}, [1, 1, 3, 4]),
        ({"topics": None, "address": None}, [1, 1, 3, 4]),
        ({"topics": [hexed(b"\x09" * 32)]}, []),
        ({"address": hexed(OTHER), "topics": [hexed(TOPIC)]}, []),
    ],
)
def test_addresses_and_topics_select(rpc, blocks, wanted, found):
    assert numbers(rpc("eth_getLogs", {**WHOLE, **wanted})) == found


@pytest.mark.parametrize(
    ("wanted", "code", "words"),
    [
        (
            {"blockHash": "0x" + "99" * 32, "toBlock": "0x1"},
            -32602,
            "invalid argument 0: cannot specify both BlockHash and FromBlock/ToBlock, choose one or "
            "the other",
        ),
        ({"fromBlock": "0x2", "toBlock": "0x1"}, -32602, "invalid block range params"),
        (
            {"fromBlock": "0x1", "toBlock": "0x5"},
            -32602,
            "block range extends beyond current head block",
        ),
        (
            {"fromBlock": "0x63", "toBlock": "0x64"},
            -32602,
            "block range extends beyond current head block",
        ),
        ({"blockHash": "0x" + "99" * 32}, -32000, "unknown block"),
        ({"fromBlock": "pending"}, -32602, "pending logs are not supported"),
        ({"toBlock": "pending"}, -32602, "pending logs are not supported"),
        ({"topics": [None] * 5}, -32602, "invalid argument 0: exceed max topics"),
        (
            {"address": "0x12"},
            -32602,
            "invalid argument 0: invalid address: hex has invalid length 1 after decoding; "
            "expected 20 for address",
        ),
    ],
)
def test_invalid_log_filter_is_refused(rpc, blocks, wanted, code, words):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_getLogs", wanted)
    assert (failure.value.code, failure.value.message) == (code, words)


def test_the_range_is_limited_by_a_setting(rpc, blocks, settings):
    settings.NODE = updated(settings.NODE, logs_block_range=2)
    assert numbers(rpc("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x3"})) == [1, 1, 3]
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x4"})
    assert (failure.value.code, failure.value.message) == (-32602, "exceed maximum block range 2")


def test_the_number_of_logs_is_limited_by_a_setting(rpc, blocks, settings):
    settings.NODE = updated(settings.NODE, logs_results=3)
    assert len(rpc("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x3"})) == 3
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_getLogs", WHOLE)
    assert (failure.value.code, failure.value.message) == (
        -32005, "query returned more than 3 results",
    )  # fmt: skip
