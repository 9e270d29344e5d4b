"""The transactions that a node knows, and those that it gossips to peers that lack them."""

from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.bloom import EMPTY, BloomFilter
from network_app.gossip import PULL_SIZE, KnownTransactions
from primitives.ids import ID
from tests.searching import cases


def an_id(number: int) -> ID:
    return ID(number.to_bytes(32, "big"))


tx_ids = st.lists(st.integers(0, 30).map(an_id), max_size=20)


def the_filter(known: KnownTransactions) -> BloomFilter:
    return BloomFilter.parse(*known.marshal())


@settings(max_examples=cases(30), deadline=None)
@given(added=tx_ids, offered=tx_ids)
def test_unknown_transactions_are_fresh_once_in_order(added: list[ID], offered: list[ID]) -> None:
    known = KnownTransactions(expected=64)
    known.add(added)
    fresh = known.fresh(offered)

    assert set(fresh) == set(offered) - set(added)
    assert fresh == sorted(set(fresh), key=offered.index)
    assert known.fresh(fresh) == fresh


@settings(max_examples=cases(30), deadline=None)
@given(tx_ids)
def test_filter_contains_known_transactions(added: list[ID]) -> None:
    known = KnownTransactions(expected=64)
    known.add(added)

    assert all(tx_id in the_filter(known) for tx_id in added)
    assert all(tx_id in known for tx_id in added)


def test_the_newest_are_remembered() -> None:
    known = KnownTransactions(expected=64, remembered=3)
    known.add(map(an_id, range(4)))
    known.add([an_id(1), an_id(9)])

    assert len(known) == 3
    assert known.fresh(map(an_id, (0, 1, 2, 3, 9))) == [an_id(0), an_id(2)]


def test_a_filter_that_claims_too_much_is_full() -> None:
    known = KnownTransactions(expected=128)
    known.add(map(an_id, range(128)))
    assert not known.full

    known.add(map(an_id, range(128, 512)))
    assert known.full


def test_renewed_filter_has_pending_and_recent_transactions() -> None:
    known = KnownTransactions(expected=128)
    known.add(map(an_id, range(512)))
    waiting = [an_id(number) for number in range(20)]
    known.renew(waiting)
    renewed = the_filter(known)

    assert not known.full
    assert all(tx_id in renewed for tx_id in waiting)
    assert all(an_id(number) in renewed for number in range(512 - 64, 512))
    assert sum(an_id(number) in renewed for number in range(20, 448)) < 40
    assert known.fresh([an_id(100)]) == []


def test_renewed_filter_is_sized_for_pending_transactions() -> None:
    known = KnownTransactions(expected=128)
    known.renew(map(an_id, range(1_000)))

    assert not known.full
    assert all(an_id(number) in the_filter(known) for number in range(1_000))
    known.add(map(an_id, range(1_000, 3_000)))
    assert not known.full


def test_renewed_filter_has_another_salt() -> None:
    known = KnownTransactions(expected=128)
    first = known.marshal()
    known.renew([])

    assert known.marshal() != first


def test_peer_receives_transactions_missing_in_its_filter() -> None:
    asker = KnownTransactions(expected=128)
    asker.add([an_id(1), an_id(3)])
    items = [(an_id(number), b"tx %d" % number) for number in range(5)]

    told = KnownTransactions.missing_from(the_filter(asker), items)
    assert told == [b"tx 0", b"tx 2", b"tx 4"]


def test_an_answer_ends_with_the_transaction_that_passes_its_size() -> None:
    sizes = [PULL_SIZE // 2, PULL_SIZE // 2, 1, 1, 1]
    items = ((an_id(number), bytes(size)) for number, size in enumerate(sizes))

    told = KnownTransactions.missing_from(EMPTY, items)
    assert [len(raw) for raw in told] == [PULL_SIZE // 2, PULL_SIZE // 2, 1]
    assert next(items) == (an_id(3), b"\0")


def test_oversized_transaction_is_sent_alone() -> None:
    items = [(an_id(1), bytes(PULL_SIZE + 1)), (an_id(2), b"small")]

    assert KnownTransactions.missing_from(EMPTY, items) == [bytes(PULL_SIZE + 1)]
