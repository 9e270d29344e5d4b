"""The consensus of a chain whose node has not created its part in the network yet."""

from unittest.mock import Mock

import pytest

from chaindb.connections import WouldBlock
from nodeproject.startup.late_consensus import LateConsensus


def test_calls_go_to_the_consensus_of_the_network() -> None:
    real = Mock(decides_alone=True)
    late = LateConsensus(lambda: real)

    assert late.lock is real.lock
    assert late.decides_alone is True
    assert late.may_produce(7, 9) is real.may_produce.return_value
    assert late.produce(now=9, allow_empty=True) is real.produce.return_value
    assert late.produce_batch([1, 2]) is real.produce_batch.return_value
    real.may_produce.assert_called_once_with(7, 9)
    real.produce.assert_called_once_with(now=9, allow_empty=True)
    real.produce_batch.assert_called_once_with([1, 2])


async def test_an_event_loop_does_not_wait_for_the_network() -> None:
    created = Mock()
    late = LateConsensus(created)

    with pytest.raises(WouldBlock):
        late.may_produce(1, 1)
    with pytest.raises(WouldBlock):
        late.decides_alone  # noqa: B018
    created.assert_not_called()
