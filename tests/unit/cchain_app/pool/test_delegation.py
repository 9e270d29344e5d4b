"""Accounts with a delegation (EIP-7702) may have only one transaction in the pool."""

import pytest

from cchain_app.pool.delegation import Authorities, Delegation
from cchain_app.pool.errors import PoolReason
from tests.builders.pool import ALICE, BOB, entry
from tests.unit.cchain_app.pool.test_admission import admit, refusal

DELEGATED = Delegation(delegated=True, busiest=0)
IN_FLIGHT = "in-flight transaction limit reached for delegated accounts"


def dearer(nonce):
    return entry(nonce, max_fee_per_gas=200, max_priority_fee_per_gas=20)


def test_a_delegated_account_may_send_its_next_nonce():
    assert admit(entry(7), nonce=7, delegation=DELEGATED).pending


@pytest.mark.parametrize("nonce", [8, 9, 100])
def test_a_delegated_account_may_not_leave_a_gap(nonce):
    message = refusal(
        PoolReason.GAPPED_NONCE_OF_DELEGATED, entry(nonce), nonce=7, delegation=DELEGATED
    )
    assert message == "gapped-nonce tx from delegated accounts"


@pytest.mark.parametrize("nonce", [8, 9, 100])
def test_a_delegated_account_has_one_executable_transaction(nonce):
    newcomer, waiting = entry(nonce), [entry(7)]
    message = refusal(
        PoolReason.IN_FLIGHT_LIMIT_REACHED, newcomer, waiting, nonce=7, delegation=DELEGATED
    )
    assert message == IN_FLIGHT
    assert admit(newcomer, waiting, nonce=7).replaces is None


def test_in_flight_transaction_can_be_replaced():
    waiting = [entry(7)]
    assert admit(dearer(7), waiting, nonce=7, delegation=DELEGATED).replaces == waiting[0]
    refusal(PoolReason.REPLACEMENT_UNDERPRICED, entry(7), waiting, nonce=7, delegation=DELEGATED)


def test_transactions_from_before_the_delegation_can_be_replaced():
    waiting = [entry(0), entry(1), entry(2)]
    assert admit(dearer(2), waiting, delegation=DELEGATED).replaces == waiting[2]
    refusal(PoolReason.IN_FLIGHT_LIMIT_REACHED, entry(3), waiting, delegation=DELEGATED)


def test_queued_transactions_from_before_the_delegation_are_allowed():
    waiting = [entry(1), entry(5)]
    refusal(PoolReason.GAPPED_NONCE_OF_DELEGATED, dearer(5), waiting, delegation=DELEGATED)
    assert admit(entry(0), waiting, delegation=DELEGATED).promoted == (waiting[0],)


def test_authority_with_one_pending_transaction_is_allowed():
    assert admit(entry(0), delegation=Delegation(delegated=False, busiest=1)).pending


def test_an_authority_of_whom_two_transactions_wait_is_reserved():
    message = refusal(
        PoolReason.AUTHORITY_RESERVED, entry(0), delegation=Delegation(delegated=False, busiest=2)
    )
    assert message == "authority already reserved"


def test_funds_are_checked_before_delegation_and_price():
    both = Delegation(delegated=True, busiest=2)
    refusal(PoolReason.FUNDS_BELOW_COST, entry(1), [entry(0)], balance=2_099_999, delegation=both)
    refusal(PoolReason.IN_FLIGHT_LIMIT_REACHED, entry(1), [entry(0)], delegation=both)
    refusal(PoolReason.AUTHORITY_RESERVED, entry(0), [entry(0)], delegation=both)


def test_an_authority_is_free_when_nothing_that_names_it_waits():
    first, second = entry(0, authorities=(ALICE, BOB)), entry(1, authorities=(ALICE,))
    named = Authorities([first])
    named.add(second)
    named.remove(first)
    assert (ALICE in named, BOB in named) == (True, False)
    named.remove(second)
    assert ALICE not in named
