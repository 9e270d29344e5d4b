"""A block that was made too late for this node's turn: nothing of it stays, and the next one is smaller."""

from collections.abc import Iterator

import pytest

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.selectors import blocks
from chaindb.chains import Chain as Name
from tests.builders.ending_turn import EndingTurn, ending_turn
from tests.builders.evm_chains import produce
from tests.builders.transactions import signed
from tests.integration.conftest import Chain


@pytest.fixture
def turn() -> Iterator[EndingTurn]:
    with ending_turn(evm_chain(), 16) as made:
        yield made


def test_of_a_block_whose_turn_is_over_nothing_stays(
    chain: Chain, turn: EndingTurn, caplog: pytest.LogCaptureFixture
) -> None:
    chain.send(signed(nonce=0))
    turn.ends = 1
    height = blocks.head(evm_chain()).number

    assert produce(evm_chain(), now=chain.now) is None

    assert turn.held == [(Name.C, height + 1)]
    assert f"the turn ended while block {height + 1} was built" in caplog.text
    assert blocks.head(evm_chain()).number == height
    assert models.PoolTransaction.objects.count() == 1
    made = produce(evm_chain(), now=chain.now)
    assert made is not None
    assert len(made.transactions) == 1


def test_after_a_late_block_less_is_offered_until_one_is_in_time(
    chain: Chain, turn: EndingTurn
) -> None:
    chain.send(*(signed(nonce=nonce) for nonce in range(16)))
    turn.ends = 3
    for _ in range(3):
        assert produce(evm_chain(), now=chain.now) is None

    sizes = []
    while (made := produce(evm_chain(), now=chain.now)) is not None:
        sizes.append(len(made.transactions))
    assert sizes == [2, 4, 8, 2]
