"""The count of the P-Chain's coins finds balances that were returned to owners of L1 validators, spent or not."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chaindb import clock
from platform_app.apps import platform_chain
from platform_app.selectors.coins_held import PlatformCoins, coins_held
from platform_app.services import l1_wallet
from platform_app.txs.base import inner_output
from primitives.ids import ID
from tests.builders import platform
from tests.integration.conftest import Chain
from tests.integration.explorer_app.conftest import chain, node_settings, pchain
from tests.integration.explorer_app.l1_chain import PAYER, L1Chain, make_l1
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.made import signed

__all__ = ["chain", "node_settings", "pchain"]


@pytest.fixture
def l1(pchain: PChain, chain: Chain, monkeypatch: pytest.MonkeyPatch) -> L1Chain:
    return make_l1(pchain, monkeypatch)


def counted() -> tuple[PlatformCoins, int]:
    """Return the coins, none of which is lost, and the number of statements."""
    with CaptureQueriesContext(connection) as captured:
        found = coins_held(platform_chain())
    assert found is not None
    assert (
        found.outputs + found.stake + found.burned == found.genesis + found.rewards + found.refunds
    )
    return found, len(captured)


def spend(pchain: PChain, creator: ID) -> None:
    """Send the last output of a transaction, which has the refund, to ewoq again."""
    created = [coin for coin in pchain.coins() if coin.tx_id == creator]
    refund = max(created, key=lambda coin: coin.output_index)
    rest = pchain.output(inner_output(refund.output).amount - 2_000, EWOQ)
    pchain.do(signed(platform.unsigned(inputs=platform.spend_all(refund), outputs=(rest,))))


def test_refunds_are_counted_before_and_after_they_are_spent(pchain: PChain, l1: L1Chain) -> None:
    returned, _ = counted()
    assert returned.refunds > 0
    spend(pchain, l1.txs["disable"])
    after, statements = counted()
    assert after.refunds == returned.refunds

    second = l1_wallet.disable_validator(
        platform_chain(), PAYER, validation_id=l1.own, now=clock.now()
    ).tx_id
    pchain.wait(1)
    assert counted()[0].refunds > after.refunds
    spend(pchain, second)
    assert counted()[1] == statements  # one pass, however many refunds were spent
