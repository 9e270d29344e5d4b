"""Totals of the blocks of each of the last minutes."""

import pytest

from cchain_app.apps import evm_chain
from cchain_app.models import Block
from cchain_app.selectors import figures
from cchain_app.selectors.figures import EvmMinute
from chaindb import minutes as module
from tests.builders import rows

pytestmark = pytest.mark.django_db
BLOCKS = 130
"""One block every two seconds."""
HEAD = rows.GENESIS_TIME + 2 * BLOCKS


@pytest.fixture(autouse=True)
def chain() -> None:
    rows.write_chain(BLOCKS)


def _summed(newest: int, oldest: int) -> EvmMinute:
    """Return the totals of the blocks between two ages in seconds, inclusive."""
    found = Block.objects.filter(timestamp__lte=HEAD - newest, timestamp__gte=HEAD - oldest)
    return EvmMinute(
        len(found),
        sum(other.transaction_count for other in found),
        sum(item.gas_used for item in found),
    )


def test_each_minute_has_its_blocks_the_oldest_first() -> None:
    found = figures.minutes(evm_chain(), HEAD)
    assert len(found) == module.WINDOW
    assert found[-1] == _summed(0, 59)
    assert found[-1].blocks == 30
    assert found[-2] == _summed(60, 119)
    assert found[-5] == _summed(240, 299)  # includes the first block of the chain
    assert found[-6] == EvmMinute(0, 0, 0)


def test_minutes_without_blocks_are_empty() -> None:
    found = figures.minutes(evm_chain(), HEAD + 90)
    assert (found[-1].blocks, found[-2].blocks) == (0, 15)
    assert figures.minutes(evm_chain(), HEAD + 86_400) == [EvmMinute(0, 0, 0)] * module.WINDOW


def test_blocks_ahead_of_the_clock_are_of_now() -> None:
    assert figures.minutes(evm_chain(), HEAD - 60)[-1].blocks == 60


def test_incomplete_minute_is_omitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "MAX_BLOCKS", 70)
    assert [minute.blocks for minute in figures.minutes(evm_chain(), HEAD)] == [30, 30]
    monkeypatch.setattr(module, "MAX_BLOCKS", 20)
    assert figures.minutes(evm_chain(), HEAD) == []
