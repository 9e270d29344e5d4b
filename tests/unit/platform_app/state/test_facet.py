"""A new facet takes part in everything that a diff does, without a change of the class `Diff`."""

from platform_app.executor.standard import execute
from tests.builders import platform
from tests.builders.platform_facet import CountingDiff
from tests.builders.platform_state import ENV, MemoryState, state

FUNDS = platform.utxo(2_000_000)
FIRST, SECOND = platform.some_id("first"), platform.some_id("second")


class Zeros:
    """Counters that are all zero."""

    def get(self, _counter_id: object) -> int:
        return 0


def counting() -> MemoryState:
    made = state(FUNDS)
    made.counters = Zeros()
    return made


def test_facet_reads_from_and_applies_to_its_parent() -> None:
    below = CountingDiff(counting())
    below.counters.set(FIRST, 3)
    diff = CountingDiff(below)
    diff.counters.set(SECOND, diff.counters.get(FIRST) + 1)

    assert (below.counters.get(SECOND), diff.counters.get(SECOND)) == (0, 4)

    diff.apply(below)

    assert below.counters.changes() == {FIRST: 3, SECOND: 4}


def test_a_copy_has_its_own() -> None:
    diff = CountingDiff(counting())
    diff.counters.set(FIRST, 1)
    twin = diff.copy()
    twin.counters.set(FIRST, 2)

    assert diff.counters.get(FIRST) == 1


def test_a_rebased_diff_reads_from_the_new_parent() -> None:
    below = CountingDiff(counting())
    diff = CountingDiff(counting())
    diff.counters.set(FIRST, 1)
    below.counters.set(SECOND, 2)
    diff.rebase(below)

    assert (diff.counters.get(FIRST), diff.counters.get(SECOND)) == (1, 2)


def test_the_rules_execute_on_such_a_diff() -> None:
    diff = CountingDiff(counting())
    diff.counters.set(FIRST, 1)
    execute(platform.signed(), diff, ENV)

    assert diff.utxos.get(FUNDS.utxo_id) is None
    assert diff.counters.get(FIRST) == 1


def test_a_diff_has_only_the_facets_that_were_used() -> None:
    diff = CountingDiff(counting())
    diff.clock.timestamp()

    assert list(vars(diff)) == ["clock"]
