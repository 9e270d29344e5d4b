"""Outputs and their owners: no rows are left over, and none are mixed up."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.state.chain import Diff
from platform_app.store.state import DatabaseState
from primitives.ids import ID, PRIMARY_NETWORK_ID
from shared_app import models as shared_models
from tests.builders import platform, shared_outputs
from tests.builders.platform_rows import accept, begin, producing
from utxo.components import UTXO, OutputOwners, TransferOutput

pytestmark = pytest.mark.django_db

FIRST, SECOND = platform.ADDRESSES[:2]


def test_an_output_is_written_with_its_locks_and_its_owners() -> None:
    shared = platform.utxo(5, FIRST, SECOND, threshold=2, locktime=8, stakeable_until=2**64 - 1)
    begin(producing(shared))

    row = models.UTXO.objects.get(utxo_id=shared.utxo_id)
    assert (row.amount, row.locktime, row.stakeable_locktime) == (5, 8, 2**64 - 1)
    assert (row.threshold, row.height) == (2, 0)
    owners = models.UTXOOwner.objects.filter(utxo=shared.utxo_id).values_list("address", flat=True)
    assert set(owners) == {FIRST, SECOND}


def test_a_spent_output_leaves_nothing_behind() -> None:
    spent, kept = platform.utxo(1, FIRST, SECOND), platform.utxo(2, FIRST, number=1)
    begin(producing(spent, kept))
    accept(lambda diff: diff.utxos.consume(spent.utxo_id))

    assert list(models.UTXO.objects.values_list("utxo_id", flat=True)) == [kept.utxo_id]
    assert list(models.UTXOOwner.objects.values_list("address", "utxo_id")) == [
        (FIRST, kept.utxo_id)
    ]


def test_an_output_without_owners_can_be_written_and_spent() -> None:
    nobody = TransferOutput(1, OutputOwners(0, 0, ()))
    free = UTXO(platform.some_id("free"), 0, platform.ASSET_ID, nobody)
    begin(producing(free))
    assert DatabaseState(platform_chain().db).utxos.get(free.utxo_id) == free
    accept(lambda diff: diff.utxos.consume(free.utxo_id))
    assert DatabaseState(platform_chain().db).utxos.get(free.utxo_id) is None


def test_exported_output_is_in_shared_memory() -> None:
    sent = platform.utxo(7)
    begin()
    accept(lambda diff: diff.utxos.export(platform.C_CHAIN_ID, sent))

    row = shared_models.SharedOutput.objects.get(utxo_id=sent.utxo_id)
    assert (row.source_chain, row.destination_chain) == (PRIMARY_NETWORK_ID, platform.C_CHAIN_ID)
    assert (
        DatabaseState(platform_chain().db).utxos.shared(platform.C_CHAIN_ID, sent.utxo_id) is None
    )
    assert DatabaseState(platform_chain().db).utxos.get(sent.utxo_id) is None


def test_exported_output_is_imported_once() -> None:
    begin()
    sent = platform.utxo(7, FIRST, SECOND)
    shared_outputs.receive(platform_chain().db, platform.X_CHAIN_ID, [sent], height=4)
    assert (
        DatabaseState(platform_chain().db).utxos.shared(platform.X_CHAIN_ID, sent.utxo_id) == sent
    )
    assert (
        DatabaseState(platform_chain().db).utxos.shared(platform.C_CHAIN_ID, sent.utxo_id) is None
    )

    accept(
        lambda diff: diff.utxos.consume_shared(platform.X_CHAIN_ID, sent.utxo_id, ID(b"\1" * 32))
    )

    assert (
        DatabaseState(platform_chain().db).utxos.shared(platform.X_CHAIN_ID, sent.utxo_id) is None
    )
    assert not shared_models.SharedOutput.objects.exists()
    assert not shared_models.SharedOwner.objects.exists()


def test_many_outputs_are_read_in_few_statements(
    django_assert_num_queries: Callable[[int], AbstractContextManager[None]],
) -> None:
    many = [platform.utxo(1 + number, number=number) for number in range(600)]
    begin(producing(*many))
    state = DatabaseState(platform_chain().db)

    with django_assert_num_queries(2):
        state.utxos.load(utxo.utxo_id for utxo in many)
        assert [state.utxos.get(utxo.utxo_id) for utxo in many] == many


def test_state_does_not_see_later_changes() -> None:
    known, later = platform.utxo(1), platform.utxo(2, number=1)
    begin(producing(known))
    state = DatabaseState(platform_chain().db)
    assert state.utxos.get(known.utxo_id) == known

    def change(diff: Diff) -> None:
        diff.utxos.consume(known.utxo_id)
        diff.utxos.produce(later)

    accept(change)

    assert state.utxos.get(known.utxo_id) == known
    assert state.tip.height == 0
