"""Epochs are computed only from the parent."""

import pytest

from network_app.proposervm.epochs import Epoch, next_epoch

THIRD = Epoch(p_chain_height=6, number=3, start_time=1000)


@pytest.mark.parametrize(
    ("parent_time", "parent_epoch", "expected"),
    [
        pytest.param(1000, None, Epoch(9, 1, 1000), id="the first epoch begins with the parent"),
        pytest.param(1000, THIRD, THIRD, id="an epoch lasts"),
        pytest.param(1029, THIRD, THIRD, id="… until its last second"),
        pytest.param(
            1030, THIRD, Epoch(9, 4, 1030), id="the next begins when the parent is behind it"
        ),
        pytest.param(9999, THIRD, Epoch(9, 4, 9999), id="epochs without blocks are not counted"),
    ],
)
def test_a_child_is_of_the_epoch_that_its_parent_makes(
    parent_time: int, parent_epoch: Epoch | None, expected: Epoch
) -> None:
    assert next_epoch(parent_time, 9, parent_epoch, 99_999, 30) == expected


def test_epochs_start_with_granite() -> None:
    assert next_epoch(1000, 9, None, 1999, granite_time=2000) is None
    assert next_epoch(1000, 9, None, 2000, granite_time=2000) == Epoch(9, 1, 1000)
