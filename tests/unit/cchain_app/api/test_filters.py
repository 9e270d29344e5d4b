"""Polled filters: each kind reports each result once; filters expire."""

import json
import pickle
import uuid
from typing import NamedTuple

import pytest
import time_machine
from django.core.cache.backends.locmem import LocMemCache

from cchain_app.apps import evm_chain
from cchain_app.filters import LogFilter
from cchain_app.selectors import logs
from cchain_app.selectors.logs import FoundLog, TooManyLogs
from cchain_app.services import poll_filters
from jsonrpc.errors import JsonRpcError
from tests.builders.accepted import EMITTER, OTHER_TOPIC, TOPIC, log
from tests.builders.node_settings import updated
from tests.builders.transactions import signed
from tests.unit.cchain_app.api.conftest import dispatcher


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@pytest.fixture
def chain(memory_chain, monkeypatch):
    """The chain in memory, with a log search that behaves like that on rows."""

    def find_logs(
        _chain: object, log_filter: LogFilter, first: int, last: int, limit: int
    ) -> list[FoundLog]:
        found = []
        for block in memory_chain.blocks[first : last + 1]:
            index = 0
            for place, receipt in enumerate(block.receipts):
                wanted = log_filter.matches(receipt.logs)
                for one, is_wanted in zip(receipt.logs, wanted, strict=True):
                    if is_wanted:
                        sent = block.transactions[place].hash
                        header = block.header
                        found.append(
                            FoundLog(*one, header.number, block.hash, header.timestamp, sent, place,
                                     index)
                        )  # fmt: skip
                    index += 1
        if limit and len(found) > limit:
            raise TooManyLogs(limit)
        return found

    cache = LocMemCache(uuid.uuid4().hex, {})
    monkeypatch.setattr(poll_filters, "_cache", lambda: cache)
    monkeypatch.setattr(logs, "find_logs", find_logs)
    evm_chain().__dict__.pop("filter_index", None)
    yield memory_chain
    evm_chain().__dict__.pop("filter_index", None)


class Connection(NamedTuple):
    """The connection of a call."""

    client: str


def call(method, *params, client="", served=None):
    """Call a method as a client and return the result; `served` reuses a dispatcher for many calls."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = (served or dispatcher()).answer(json.dumps(body).encode(), Connection(client))
    return json.loads(answer)["result"]


def emitting(chain, *emitted, nonce=0):
    return chain.accept(signed(nonce=nonce), logs=[list(emitted)])


def numbers(found):
    return [int(item["blockNumber"], 16) for item in found]


def test_an_id_is_128_random_bits(rpc, chain):
    one, two = rpc("eth_newBlockFilter"), rpc("eth_newBlockFilter")
    assert one != two
    assert max(int(one, 16), int(two, 16)).bit_length() > 64


def test_a_log_filter_reports_new_logs_once(rpc, chain):
    emitting(chain, log(TOPIC))
    made = rpc("eth_newFilter", {"topics": [hexed(TOPIC)]})
    assert rpc("eth_getFilterChanges", made) == []
    emitting(chain, log(TOPIC), log(OTHER_TOPIC), nonce=1)
    emitting(chain, log(TOPIC), nonce=2)
    assert numbers(rpc("eth_getFilterChanges", made)) == [2, 3]
    assert rpc("eth_getFilterChanges", made) == []


def test_a_changed_log_looks_as_in_eth_get_logs(rpc, chain):
    made = rpc("eth_newFilter", {"address": hexed(EMITTER)})
    block = emitting(chain, log(TOPIC))
    changes = rpc("eth_getFilterChanges", made)
    assert changes == rpc("eth_getLogs", {"blockHash": hexed(block.hash)})


def test_logs_outside_the_filters_range_are_not_reported(rpc, chain):
    made = rpc("eth_newFilter", {"fromBlock": "0x2", "toBlock": "0x3"})
    for nonce in range(4):
        emitting(chain, log(), nonce=nonce)
    assert numbers(rpc("eth_getFilterChanges", made)) == [2, 3]
    emitting(chain, log(), nonce=4)
    assert rpc("eth_getFilterChanges", made) == []


def test_filter_logs_are_those_of_the_whole_range(rpc, chain):
    emitting(chain, log(TOPIC))
    made = rpc("eth_newFilter", {"fromBlock": "0x0", "topics": [hexed(TOPIC)]})
    emitting(chain, log(TOPIC), nonce=1)
    assert numbers(rpc("eth_getFilterLogs", made)) == [1, 2]
    assert numbers(rpc("eth_getFilterChanges", made)) == [2]


def test_filter_logs_of_one_block_are_found_by_its_hash(rpc, chain):
    block = emitting(chain, log(TOPIC))
    emitting(chain, log(TOPIC), nonce=1)
    made = rpc("eth_newFilter", {"blockHash": hexed(block.hash)})
    assert numbers(rpc("eth_getFilterLogs", made)) == [1]


def test_logs_above_the_result_limit_are_returned_in_several_polls(rpc, chain, settings):
    settings.NODE = updated(settings.NODE, logs_results=2)
    made = rpc("eth_newFilter", {})
    for nonce in range(4):
        emitting(chain, log(), log(), nonce=nonce)
    reported = []
    for _ in range(4):
        reported += numbers(rpc("eth_getFilterChanges", made))
    assert reported == [1, 1, 2, 2, 3, 3, 4, 4]


def test_a_block_filter_reports_hashes_in_order(rpc, chain):
    made = rpc("eth_newBlockFilter")
    accepted = [chain.accept(), chain.accept()]
    assert rpc("eth_getFilterChanges", made) == [hexed(item.hash) for item in accepted]
    assert rpc("eth_getFilterChanges", made) == []


def test_pending_filter_reports_each_executable_transaction_once(rpc, chain):
    before, after = signed(nonce=0), signed(nonce=1)
    chain.pending.append(before)
    made = rpc("eth_newPendingTransactionFilter")
    assert rpc("eth_getFilterChanges", made) == []
    chain.pending.append(after)
    assert rpc("eth_getFilterChanges", made) == [hexed(after.hash)]
    chain.accept(before, after)
    assert rpc("eth_getFilterChanges", made) == []


def test_a_transaction_that_was_in_a_block_before_the_poll_is_reported(rpc, chain):
    made = rpc("eth_newPendingTransactionFilter", False)
    quick = signed(nonce=0)
    chain.accept(quick)
    assert rpc("eth_getFilterChanges", made) == [hexed(quick.hash)]
    assert rpc("eth_getFilterChanges", made) == []


def test_a_full_pending_filter_reports_objects(rpc, chain):
    made = rpc("eth_newPendingTransactionFilter", True)
    quick, waiting = signed(nonce=0), signed(nonce=1)
    chain.accept(quick)
    chain.pending.append(waiting)
    found = rpc("eth_getFilterChanges", made)
    assert [item["hash"] for item in found] == [hexed(quick.hash), hexed(waiting.hash)]
    assert [other["blockHash"] for other in found] == [None, None]


@pytest.mark.parametrize("method", ["eth_getFilterChanges", "eth_getFilterLogs"])
@pytest.mark.parametrize("unknown", ["0x1", "nonsense"])
def test_an_unknown_filter_is_not_found(rpc, chain, method, unknown):
    with pytest.raises(JsonRpcError) as failure:
        rpc(method, unknown)
    assert (failure.value.code, failure.value.message) == (-32000, "filter not found")


def test_filter_logs_are_for_log_filters_only(rpc, chain):
    for made in (rpc("eth_newBlockFilter"), rpc("eth_newPendingTransactionFilter")):
        with pytest.raises(JsonRpcError, match="filter not found"):
            rpc("eth_getFilterLogs", made)


def test_uninstalled_filter_is_not_found(rpc, chain):
    made = rpc("eth_newBlockFilter")
    assert rpc("eth_uninstallFilter", made) is True
    assert rpc("eth_uninstallFilter", made) is False
    with pytest.raises(JsonRpcError, match="filter not found"):
        rpc("eth_getFilterChanges", made)


def test_polls_keep_a_filter_alive_and_silence_ends_it(rpc, chain):
    with time_machine.travel(1_700_000_000, tick=False) as clock:
        blocks, found = rpc("eth_newBlockFilter"), rpc("eth_newFilter", {})
        for _ in range(3):
            clock.shift(200)
            assert rpc("eth_getFilterChanges", blocks) == []
            assert rpc("eth_getFilterLogs", found) == []
        clock.shift(301)
        for method, made in (("eth_getFilterChanges", blocks), ("eth_getFilterLogs", found)):
            with pytest.raises(JsonRpcError, match="filter not found"):
                rpc(method, made)


def lives(rpc, made):
    try:
        rpc("eth_getFilterChanges", made)
    except JsonRpcError as error:
        return error.message != "filter not found"
    return True


def test_least_recently_polled_filter_is_evicted(rpc, chain, settings):
    settings.NODE = updated(settings.NODE, filters=3)
    first, second, third = (rpc("eth_newBlockFilter") for _ in range(3))
    rpc("eth_getFilterChanges", first)
    fourth = rpc("eth_newFilter", {})
    assert [lives(rpc, value) for value in (first, second, third, fourth)] == [
        True,
        False,
        True,
        True,
    ]


@pytest.mark.parametrize("make", ["eth_newBlockFilter", "eth_newPendingTransactionFilter"])
def test_client_with_thousands_of_filters_loses_its_own(chain, settings, make):
    settings.NODE = updated(settings.NODE, filters=100)
    served = dispatcher()
    ours = call(make, client="192.0.2.1", served=served)
    for _ in range(11_000):
        theirs = call(make, client="198.51.100.7", served=served)
    assert call("eth_getFilterChanges", ours) == []
    assert call("eth_getFilterChanges", theirs) == []
    assert len(evm_chain().filter_index) == 100


def test_uninstalled_and_expired_filters_free_capacity(rpc, chain, settings):
    settings.NODE = updated(settings.NODE, filters=2)
    with time_machine.travel(1_700_000_000, tick=False) as clock:
        kept = rpc("eth_newBlockFilter")
        for _ in range(5):
            rpc("eth_uninstallFilter", rpc("eth_newFilter", {}))
        assert lives(rpc, kept)
        rpc("eth_newBlockFilter")
        clock.shift(200)
        assert lives(rpc, kept)
        clock.shift(200)
        rpc("eth_newBlockFilter")
        assert lives(rpc, kept)


def test_filter_weight_follows_its_topics(rpc, chain, settings):
    settings.NODE = updated(settings.NODE, filters=50)
    topics = [[hexed(number.to_bytes(32, "big")) for number in range(1000)]] * 4
    large = [rpc("eth_newFilter", {"topics": topics}) for _ in range(3)]
    assert [lives(rpc, item) for item in large] == [False, False, True]


def test_filter_keeps_eight_bytes_per_reported_transaction(rpc, chain):
    chain.pending += [signed(nonce=nonce) for nonce in range(100)]
    made = int(rpc("eth_newPendingTransactionFilter"), 16)
    held = pickle.dumps(poll_filters.get(evm_chain(), made))
    assert len(held) < 100 * 8 + 500
    chain.pending.append(signed(nonce=100))
    assert rpc("eth_getFilterChanges", hex(made)) == [hexed(chain.pending[-1].hash)]


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ({"fromBlock": "0x2", "toBlock": "0x1"}, "invalid block range params"),
        ({"fromBlock": "pending"}, "pending logs are not supported"),
        ({"topics": [None] * 5}, "invalid argument 0: exceed max topics"),
    ],
)
def test_a_filter_that_cannot_match_is_refused(rpc, chain, wanted, words):
    with pytest.raises(JsonRpcError) as failure:
        rpc("eth_newFilter", wanted)
    assert (failure.value.code, failure.value.message) == (-32602, words)


def test_very_many_blocks_are_reported_by_several_polls(rpc, chain, monkeypatch):
    monkeypatch.setattr(poll_filters, "BLOCKS_A_POLL", 2)
    blocks, pending = rpc("eth_newBlockFilter"), rpc("eth_newPendingTransactionFilter")
    sent = [signed(nonce=nonce) for nonce in range(5)]
    accepted = [chain.accept(item) for item in sent]
    for made, wanted in ((blocks, accepted), (pending, sent)):
        reported = [rpc("eth_getFilterChanges", made) for _ in range(4)]
        assert [len(found) for found in reported] == [2, 2, 1, 0]
        assert [entry for found in reported for entry in found] == [
            hexed(other.hash) for other in wanted
        ]
