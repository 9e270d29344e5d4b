"""A P-Chain block that was made too late for this node's turn: nothing of it stays."""

from collections.abc import Iterator

import pytest

from chaindb.chains import Chain
from platform_app.apps import platform_chain
from platform_app.models import MempoolTx
from tests.builders.ending_turn import EndingTurn, ending_turn
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.made import payments


@pytest.fixture
def turn(pchain: PChain) -> Iterator[EndingTurn]:
    with ending_turn(platform_chain(), most=4) as made:
        yield made


def test_of_a_block_whose_turn_is_over_nothing_stays(
    pchain: PChain, turn: EndingTurn, caplog: pytest.LogCaptureFixture
) -> None:
    pchain.issue(*payments(pchain, 4))
    turn.ends = 2
    before = platform_chain().tip()

    for _ in range(2):
        assert platform_chain().consensus.produce(now=pchain.now) is None

    assert turn.held[-2:] == [(Chain.P, before.height + 1)] * 2
    assert platform_chain().tip() == before
    assert MempoolTx.objects.count() == 4
    assert f"the turn ended while block {before.height + 1} was built" in caplog.text
    sizes = []
    while (made := platform_chain().consensus.produce(now=pchain.now)) is not None:
        sizes.append(len(made.txs))
    assert sizes == [1, 2, 1]


def test_a_renewal_that_came_to_nothing_is_tried_again(
    pchain: PChain, turn: EndingTurn, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    own = platform_chain().own
    assert own is not None
    monkeypatch.setattr(own, "propose", lambda *, now: asked.append("propose"))
    monkeypatch.setattr(own, "undo", lambda: asked.append("undo"))
    pchain.issue(pchain.make())
    turn.ends = 1

    assert platform_chain().consensus.produce(now=pchain.now) is None

    assert asked == ["propose", "undo"]
