"""Slots: their proposers and times. Conformance tests compare the reference's own draws."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_app.proposervm.windower import (
    MAX_LOOK_AHEAD_SLOTS,
    minimum_delay,
    next_slot,
    proposer_at,
    slot_of,
    window_owners,
)
from primitives.ids import EMPTY_NODE_ID, ID, P_CHAIN_ID, NodeID
from tests.builders.outer_blocks import an_id, heights, ids
from tests.searching import cases

nodes = st.binary(min_size=20, max_size=20).map(NodeID)
sets = st.dictionaries(nodes, st.integers(0, 10**15), max_size=6)
slots = st.integers(0, 2**64 - 1)

A, B, C = (NodeID(bytes([number]) * 20) for number in (1, 2, 3))


@pytest.mark.parametrize(
    ("time", "slot"), [(100, 0), (104, 0), (105, 1), (109, 1), (3700, 720), (99, 0), (0, 0)]
)
def test_slot_lasts_five_seconds_from_the_parents_time(time: int, slot: int) -> None:
    assert slot_of(time, parent_time=100) == slot


@settings(max_examples=cases(30), deadline=None)
@given(chain_id=ids, height=heights, slot=slots, validators=sets, data=st.data())
def test_all_nodes_find_the_same_proposer(
    chain_id: ID, height: int, slot: int, validators: dict[NodeID, int], data: st.DataObject
) -> None:
    otherwise_ordered = dict(data.draw(st.permutations(list(validators.items()))))
    inactive = otherwise_ordered | {EMPTY_NODE_ID: 10**15}
    drawn = proposer_at(chain_id, height, slot, validators)

    assert proposer_at(chain_id, height, slot, inactive) == drawn
    if drawn is None:
        assert not any(weight for node, weight in validators.items() if node != EMPTY_NODE_ID)
    else:
        assert validators[drawn] > 0


def test_proposers_are_drawn_by_stake() -> None:
    stake = {A: 1_000, B: 3_000, C: 6_000}
    draws = Counter(
        proposer_at(P_CHAIN_ID, height, slot, stake) for height in range(100) for slot in range(20)
    )

    assert {node: round(draws[node] / 200) for node in stake} == {A: 1, B: 3, C: 6}


def test_chain_height_and_slot_change_the_proposer() -> None:
    stake = dict.fromkeys((A, B, C), 1)

    assert {proposer_at(an_id(str(n)), 1, 0, stake) for n in range(20)} == {A, B, C}
    assert {proposer_at(P_CHAIN_ID, n, 0, stake) for n in range(20)} == {A, B, C}
    assert {proposer_at(P_CHAIN_ID, 1, n, stake) for n in range(20)} == {A, B, C}


@settings(max_examples=cases(12), deadline=None)
@given(chain_id=ids, height=heights, first=st.integers(0, 2**40))
def test_the_next_slot_is_the_first_that_a_node_owns(chain_id: ID, height: int, first: int) -> None:
    stake = {A: 1, B: 5}
    found = next_slot(chain_id, height, A, stake, first=first)

    assert found is not None
    assert proposer_at(chain_id, height, found, stake) == A
    assert all(proposer_at(chain_id, height, n, stake) == B for n in range(first, found))


def test_slot_without_owner_is_free_for_all() -> None:
    assert next_slot(P_CHAIN_ID, 1, A, {}, first=7) == 7
    assert next_slot(P_CHAIN_ID, 1, A, {EMPTY_NODE_ID: 5}, first=7) == 7
    assert proposer_at(P_CHAIN_ID, 1, 7, {B: 0}) is None


def test_a_node_without_stake_has_no_slot() -> None:
    assert next_slot(P_CHAIN_ID, 1, A, {B: 1}, first=0) is None
    assert next_slot(P_CHAIN_ID, 1, A, {A: 0, B: 1}, first=0) is None


def test_slots_beyond_the_look_ahead_are_not_searched() -> None:
    stake = {A: 1, B: 10**18}
    owners = {proposer_at(P_CHAIN_ID, 1, slot, stake) for slot in range(MAX_LOOK_AHEAD_SLOTS)}

    assert owners == {B}
    assert next_slot(P_CHAIN_ID, 1, A, stake, first=0) is None


@settings(max_examples=cases(20), deadline=None)
@given(chain_id=ids, height=heights, validators=sets)
def test_windows_do_not_exceed_units_of_stake(
    chain_id: ID, height: int, validators: dict[NodeID, int]
) -> None:
    validators.pop(EMPTY_NODE_ID, None)
    owners = window_owners(chain_id, height, validators)

    assert len(owners) == min(6, sum(validators.values()))
    assert all(owners.count(owner) <= validators[owner] for owner in owners)


def test_before_durango_a_node_waits_for_its_first_window() -> None:
    owners = (A, B, A, B, B, A)

    assert minimum_delay(owners, A) == 0
    assert minimum_delay(owners, B) == 5
    assert minimum_delay(owners, C) == 30
    assert minimum_delay(owners, None) == 30
