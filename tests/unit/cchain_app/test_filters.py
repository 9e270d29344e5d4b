"""The logs that match a filter."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.blocks.receipt import bloom_of
from cchain_app.evm.engine import Log
from cchain_app.filters import LogFilter
from primitives.evm import Address, Word

A, B = Address(b"\x0a" * 20), Address(b"\x0b" * 20)
X, Y, Z = (Word(bytes((n,)) * 32) for n in (1, 2, 3))
ANY = frozenset()


def wanted(*topics, addresses=()):
    return LogFilter(frozenset(addresses), tuple(map(frozenset, topics)))


@pytest.mark.parametrize(
    ("log_filter", "matches"),
    [
        (LogFilter(), True),
        (wanted(addresses=[A]), True),
        (wanted(addresses=[A, B]), True),
        (wanted(addresses=[B]), False),
        (wanted([X]), True),
        (wanted([Y]), False),
        (wanted([Y, X]), True),
        (wanted(ANY, [Y]), True),
        (wanted(ANY, [X]), False),
        (wanted([X], [Y]), True),
        (wanted([X], [Z]), False),
        (wanted(ANY, ANY), True),
        (wanted(ANY, ANY, ANY), False),
        (wanted([X], [Y], ANY), False),
        (wanted([X], addresses=[B]), False),
    ],
)
def test_a_log_with_two_topics_is_wanted_by_address_and_position(log_filter, matches):
    assert log_filter.matches([Log(A, (X, Y), b"")]) == [matches]


def test_log_without_topics_matches_only_a_filter_without_topics():
    bare = Log(A, (), b"")
    assert LogFilter().matches([bare]) == [True]
    assert wanted(ANY).matches([bare]) == [False]


addresses = st.sampled_from([A, B])
topics = st.sampled_from([X, Y, Z])
logs = st.builds(Log, addresses, st.lists(topics, max_size=4).map(tuple), st.just(b""))
filters = st.builds(
    LogFilter,
    st.frozensets(addresses),
    st.lists(st.frozensets(topics), max_size=4).map(tuple),
)


@given(filters, st.lists(logs, max_size=4))
def test_a_bloom_never_hides_a_wanted_log(log_filter, logs):
    if any(log_filter.matches(logs)):
        assert log_filter.may_match(bloom_of(logs))


@given(filters, st.lists(logs, max_size=6))
def test_logs_are_matched_independently(log_filter, logs):
    assert log_filter.matches(logs) == [log_filter.matches([log])[0] for log in logs]


def test_bloom_excludes_absent_addresses_and_topics():
    bloom = bloom_of([Log(A, (X,), b"")])
    assert not wanted(addresses=[B]).may_match(bloom)
    assert not wanted([Y]).may_match(bloom)
    assert not wanted([X], [Y]).may_match(bloom)
    assert not wanted(addresses=[A]).may_match(0)
    assert wanted([Y, X], addresses=[A, B]).may_match(bloom)
