"""Log filters as clients send them."""

import pytest

from cchain_app.api.params.logs import LogCriteria, log_criteria
from cchain_app.api.params.values import Tag
from cchain_app.filters import LogFilter
from jsonrpc.errors import InvalidParam

A, B = "0x" + "aa" * 20, "0x" + "bb" * 20
T, U = "0x" + "01" * 32, "0x" + "02" * 32


def test_an_empty_filter_wants_every_log():
    assert log_criteria({}) == LogCriteria(LogFilter())


def test_one_address_and_a_list_of_addresses_are_read():
    assert log_criteria({"address": A}).log_filter.addresses == {b"\xaa" * 20}
    assert log_criteria({"address": [A, B]}).log_filter.addresses == {b"\xaa" * 20, b"\xbb" * 20}
    assert log_criteria({"address": []}).log_filter.addresses == frozenset()
    assert log_criteria({"address": None}).log_filter.addresses == frozenset()


def test_each_position_of_topics_is_null_one_or_several():
    found = log_criteria({"topics": [None, T, [T, U], []]}).log_filter.topics
    one, two = b"\x01" * 32, b"\x02" * 32
    assert found == (frozenset(), {one}, {one, two}, frozenset())


def test_null_among_alternatives_matches_anything():
    assert log_criteria({"topics": [[T, None]]}).log_filter.topics == (frozenset(),)


def test_a_range_has_heights_and_tags():
    found = log_criteria({"fromBlock": "0x1", "toBlock": "latest"})
    assert (found.first, found.last) == (1, Tag.LATEST)


def test_a_block_can_be_named_by_its_hash():
    assert log_criteria({"blockHash": T}).block_hash == b"\x01" * 32


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([], "json: cannot unmarshal array into Go value of type filters.input"),
        (
            {"blockHash": T, "fromBlock": "0x1"},
            "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
        ),
        ({"address": "aa"}, "invalid address: hex string without 0x prefix"),
        (
            {"address": "0xaa"},
            "invalid address: hex has invalid length 1 after decoding; expected 20 for address",
        ),
        ({"address": [A, "0xa"]}, "invalid address at index 1: hex string of odd length"),
        ({"address": [5]}, "non-string address at index 0"),
        ({"address": 5}, "invalid addresses in query"),
        ({"topics": [T, T, T, T, T]}, "exceed max topics"),
        ({"topics": T}, "json: cannot unmarshal string into Go value of type []interface {}"),
        ({"topics": [5]}, "invalid topic(s)"),
        ({"topics": [[5]]}, "invalid topic(s)"),
        (
            {"topics": ["0x01"]},
            "hex has invalid length 1 after decoding; expected 32 for topic",
        ),
        ({"topics": [[T] * 1001]}, "exceed max addresses or topics per search position"),
        ({"address": [A] * 1001}, "exceed max addresses or topics per search position"),
        ({"topics": ["01"]}, "hex string without 0x prefix"),
        ({"fromBlock": "1"}, "hex string without 0x prefix"),
    ],
)
def test_an_invalid_filter_is_refused(given, words):
    with pytest.raises(InvalidParam) as refusal:
        log_criteria(given)
    assert refusal.value.text == words
