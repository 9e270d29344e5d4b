"""The address book: the latest address of each wanted node, bounded, and gossiped to peers that lack it."""

from ipaddress import IPv4Address
from random import Random
from typing import Any

import pytest

from network_app.bloom import EMPTY, BloomFilter
from network_app.gossip import AddressBook
from network_app.handshake.claims import NodeClaim, SignedIP, gossip_id
from primitives.ids import NodeID

NOW = 1_700_000_000


def a_node(number: int) -> NodeID:
    return NodeID(number.to_bytes(20, "big"))


def a_claim(number: int, timestamp: int = NOW, port: int = 9651) -> NodeClaim:
    claim = SignedIP(IPv4Address("127.0.0.1"), port, timestamp, b"signature")
    return NodeClaim(a_node(number), b"certificate", claim)


OWN = a_claim(0)


def a_book(wanted: range = range(1_000), **changed: Any) -> AddressBook:
    """Return a book that wants the nodes with these numbers."""
    return AddressBook(
        OWN, lambda node_id: int.from_bytes(node_id, "big") in wanted, random=Random(1), **changed
    )


def the_filter(book: AddressBook, now: float = 0) -> BloomFilter:
    return BloomFilter.parse(*book.known_peers(now))


def has(known: BloomFilter, claim: NodeClaim) -> bool:
    return gossip_id(claim.node_id, claim.claim.timestamp) in known


def test_a_first_claim_is_kept_and_dialled() -> None:
    book = a_book()

    assert book.add(a_claim(1))
    assert book.get(a_node(1)) == a_claim(1)
    assert len(book) == 1


def test_newer_of_two_claims_counts() -> None:
    book = a_book()
    book.add(a_claim(1, NOW))

    assert not book.add(a_claim(1, NOW - 1, port=1))
    assert not book.add(a_claim(1, NOW, port=1))
    assert book.add(a_claim(1, NOW + 1, port=1))
    assert book.get(a_node(1)) == a_claim(1, NOW + 1, port=1)


def test_known_or_unwanted_claim_is_no_news() -> None:
    book = a_book(range(1, 3))
    book.add(a_claim(1))

    assert book.is_news(a_claim(2))
    assert book.is_news(a_claim(1, NOW + 1))
    assert not book.is_news(a_claim(1))
    assert not book.is_news(a_claim(3))


def test_own_address_is_not_added() -> None:
    book = a_book()

    assert not book.add(a_claim(0, NOW + 1))
    assert has(the_filter(book), OWN)
    assert book.sample(EMPTY) == []


def test_unwanted_nodes_are_not_kept() -> None:
    book = a_book(range(5))

    assert [number for number in range(1, 9) if book.add(a_claim(number))] == [1, 2, 3, 4]
    assert len(book) == 4


def test_ten_thousand_claims_leave_the_book_bounded() -> None:
    book = a_book(range(10_000), most_known=100)
    kept = [number for number in range(1, 10_000) if book.add(a_claim(number))]

    assert kept == list(range(1, 101))
    assert len(book) == 100
    assert book.add(a_claim(7, NOW + 1))


def test_a_full_book_gives_up_those_that_are_not_wanted_any_more() -> None:
    wanted = set(range(1, 4))
    book = AddressBook(OWN, lambda node: int.from_bytes(node, "big") in wanted, most_known=3)
    for number in range(1, 4):
        book.add(a_claim(number))
    the_filter(book, now=0)
    wanted -= {1, 2}
    wanted |= {4, 5, 6}

    assert not book.add(a_claim(4))
    the_filter(book, now=60)
    assert [number for number in (4, 5, 6) if book.add(a_claim(number))] == [4, 5]
    assert book.get(a_node(1)) is None


def test_unwanted_node_is_neither_dialled_nor_gossiped() -> None:
    wanted = {1}
    book = AddressBook(OWN, lambda node: int.from_bytes(node, "big") in wanted)
    book.add(a_claim(1))
    wanted.clear()

    assert book.get(a_node(1)) is None
    assert book.sample(EMPTY) == []


def test_filter_contains_known_claims() -> None:
    book = a_book()
    before = the_filter(book)
    book.add(a_claim(1))

    assert not has(before, a_claim(1))
    assert has(the_filter(book), a_claim(1))
    assert not has(the_filter(book), a_claim(1, NOW + 1))


def test_filter_is_renewed_every_minute() -> None:
    book = a_book(filter_interval=60)
    first = the_filter(book, now=5)
    book.add(a_claim(1, NOW))
    book.add(a_claim(1, NOW + 1))

    assert the_filter(book, now=64).salt == first.salt
    assert has(the_filter(book, now=64), a_claim(1, NOW))
    renewed = the_filter(book, now=65)
    assert renewed.salt != first.salt
    assert has(renewed, a_claim(1, NOW + 1))
    assert not has(renewed, a_claim(1, NOW))


def test_renewed_filter_omits_unwanted_nodes() -> None:
    wanted = {1}
    book = AddressBook(OWN, lambda node: int.from_bytes(node, "big") in wanted)
    book.add(a_claim(1))
    wanted.clear()

    assert not has(the_filter(book), a_claim(1))
    assert len(book) == 0


def test_a_node_has_two_entries_in_a_filter_at_most() -> None:
    book = a_book()
    the_filter(book)
    claims = [a_claim(1, NOW + second) for second in range(5)]

    assert all(book.add(claim) for claim in claims)
    assert [has(the_filter(book), claim) for claim in claims] == [True, True, False, False, False]
    assert has(the_filter(book, now=60), claims[-1])


def test_a_filter_that_claims_too_much_is_made_larger() -> None:
    book = a_book()
    small = the_filter(book)
    for number in range(1, 1_000):
        book.add(a_claim(number))
    large = the_filter(book)

    assert len(large.entries) > 2 * len(small.entries)
    assert all(has(large, a_claim(number)) for number in range(1_000))
    # of the missing nodes, at most one in a hundred seems to be present
    assert sum(has(large, a_claim(number)) for number in range(1_000, 3_000)) < 40


def test_sample_contains_claims_missing_in_the_filter() -> None:
    book = a_book()
    for number in range(1, 11):
        book.add(a_claim(number))
    asker = a_book()
    for number in range(1, 6):
        asker.add(a_claim(number))

    told = book.sample(the_filter(asker))
    assert {claim.node_id for claim in told} == {a_node(number) for number in range(6, 11)}
    assert book.sample(the_filter(book)) == []


def test_a_sample_is_without_the_asker() -> None:
    book = a_book()
    for number in (1, 2):
        book.add(a_claim(number))

    assert book.sample(EMPTY, asker=a_node(1)) == [a_claim(2)]


@pytest.mark.parametrize(("known", "expected"), [(3, 3), (15, 15), (40, 15)])
def test_a_sample_has_fifteen_claims_at_most(known: int, expected: int) -> None:
    book = a_book()
    for number in range(1, known + 1):
        book.add(a_claim(number))
    told = book.sample(EMPTY)

    assert len({claim.node_id for claim in told}) == len(told) == expected


def test_repeated_samples_deliver_all_claims() -> None:
    book, asker = a_book(), a_book()
    for number in range(1, 101):
        book.add(a_claim(number))
    rounds = 0
    while told := book.sample(the_filter(asker)):
        rounds += 1
        assert all(asker.add(claim) for claim in told)

    assert len(asker) >= 99  # a filter has false positives
    assert rounds == 7
