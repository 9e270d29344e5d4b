"""trace_filter on a proof-of-work chain: block rewards are among the entries, from rows and by execution."""

import pytest

from cchain_app.apps import evm_chain
from cchain_app.evm.tracing import TraceTimedOut
from cchain_app.selectors import blocks, calls
from cchain_app.services.calls import index_calls
from cchain_app.tracing.output import Deadline
from tests.builders.spec_history import LAST, UNCLE, WITH_UNCLES, history
from tests.builders.transactions import SENDER
from tests.integration.cchain_app.followed import forget
from tests.integration.cchain_app.services.imported import bring, directory

pytestmark = pytest.mark.sqlite_only

__all__ = ["directory"]

MERGE = 17
"""The first block without a reward."""


@pytest.fixture(params=["rows", "execution", "both"])
def imported(directory, request):
    del directory
    bring(history().genesis, history().file)
    forget()
    if request.param == "rows":
        index_calls(evm_chain(), seconds=60)
    elif request.param == "both":
        while (index_calls(evm_chain(), seconds=0)) and rows_up_to() < 5:
            pass
        assert 5 <= rows_up_to() < MERGE


def rows_up_to():
    return calls.indexed_height(evm_chain())


def whole(rpc, first=1, last=LAST):
    return [entry for number in range(first, last + 1) for entry in rpc("trace_block", hex(number))]


def test_rewards_are_last_in_each_block(rpc, imported):
    found = rpc("trace_filter", {"fromBlock": "0x1"})

    assert found == whole(rpc)
    paid = [item["blockNumber"] for item in found if item["type"] == "reward"]
    assert paid == sorted([*range(1, MERGE), *WITH_UNCLES])


def test_rewards_match_their_author(rpc, imported):
    uncle = "0x" + UNCLE.hex()
    found = rpc("trace_filter", {"toAddress": [uncle]})
    assert [item["blockNumber"] for item in found] == list(WITH_UNCLES)
    assert {entry["action"]["rewardType"] for entry in found} == {"uncle"}

    author = rpc("trace_block", "0x1")[-1]["action"]["author"]
    sender = "0x" + SENDER.hex()
    mined = rpc("trace_filter", {"toAddress": [author], "fromBlock": "0x3", "toBlock": "0x5"})
    assert mined == [
        element
        for element in whole(rpc, 3, 5)
        if author in {element["action"].get("to"), element["action"].get("author")}
    ]
    asked = {"fromAddress": [sender], "toAddress": [uncle], "toBlock": "0x8"}
    union = rpc("trace_filter", asked)
    assert union == [
        one
        for one in whole(rpc, 1, 8)
        if one["action"].get("from") == sender or one["action"].get("author") == uncle
    ]
    assert any(other["type"] == "reward" for other in union)


def test_rewards_match_no_sender(rpc, imported):
    sender, uncle = "0x" + SENDER.hex(), "0x" + UNCLE.hex()

    assert rpc("trace_filter", {"fromAddress": [uncle]}) == []
    both = {"fromAddress": [sender], "toAddress": [uncle], "mode": "intersection"}
    assert rpc("trace_filter", both) == []


def test_after_and_count_take_rewards_for_entries(rpc, imported):
    everything = whole(rpc, 1, 6)

    for after in range(0, len(everything), 5):
        asked = {"toBlock": "0x6", "after": after, "count": 3}
        assert rpc("trace_filter", asked) == everything[after : after + 3]


def test_rewards_are_read_in_parts_until_the_deadline(directory, monkeypatch):
    bring(history().genesis, history().file)
    chain = evm_chain()
    monkeypatch.setattr(calls, "HEIGHTS_AT_ONCE", 3)

    def found(deadline):
        return list(calls.rewards_between(chain, range(1, LAST + 1), None, deadline))

    expected = [
        (number, reward)
        for number in range(1, LAST + 1)
        for reward in blocks.rewards_in(chain, blocks.by_number(chain, number))
    ]
    assert [(item.number, item.reward) for item in found(Deadline(60))] == expected
    with pytest.raises(TraceTimedOut):
        found(Deadline(0))
