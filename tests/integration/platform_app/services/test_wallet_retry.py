"""Overtaken wallet requests: other transactions spend the coins between choosing and issuing."""

from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from platform_app.apps import platform_chain
from platform_app.chain import PlatformChain
from platform_app.config import DAY, UNIT
from platform_app.executor.errors import StakerReason
from platform_app.selectors import subnets
from platform_app.services import mempool as services_mempool
from platform_app.services import wallet
from platform_app.services.errors import ConflictingTx
from platform_app.services.wallet import IssueResult, Payer
from platform_app.store import mempool
from platform_app.txs.base import Tx
from primitives.ids import ID
from primitives.keys import EWOQ_KEY
from tests.builders import platform, shared_outputs
from tests.builders.keystore import PASSWORD, make_cheap, some_user
from tests.builders.reasons import raises
from tests.integration.platform_app.conftest import PChain
from tests.integration.platform_app.services.paying import (
    ADDRESS,
    EWOQ,
    FEES,
    KEY,
    OTHER,
    PAYER,
    STAKE,
    accepted,
    delegator,
    funded,
    validator,
)
from utxo.errors import InvalidTx


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    make_cheap(monkeypatch)


@pytest.fixture
def rich(pchain: PChain) -> PChain:
    """A chain with a user who has ewoq's key."""
    some_user(EWOQ_KEY)
    return pchain


def overtaken(monkeypatch: pytest.MonkeyPatch, times: int, meanwhile: Any) -> None:
    """Call a function after a wallet has built a transaction, the given number of times."""
    issue_tx, left = services_mempool.issue_tx, times

    def issued(chain: PlatformChain, tx: Tx, *, now: int) -> ID:
        nonlocal left
        if left:
            left -= 1
            meanwhile(tx, partial(issue_tx, chain))
        return issue_tx(chain, tx, now=now)

    monkeypatch.setattr(services_mempool, "issue_tx", issued)


def rivals(pchain: PChain, key: bytes = KEY) -> Any:
    """Return a function that issues a conflicting transaction with the same inputs."""

    def issue(tx: Tx, issue_tx: Any) -> None:
        issue_tx(platform.signed(replace(tx.unsigned, memo=b"rival"), [[key]]), now=pchain.now)

    return issue


def test_overtaken_payment_uses_other_coins(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = funded(pchain, *[2 * UNIT] * 5)
    overtaken(monkeypatch, 4, rivals(pchain))

    issued = wallet.create_subnet(
        platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=pchain.now
    )

    accepted(pchain, issued)
    assert len(subnets.subnets(platform_chain())) == 5


def test_payment_overtaken_each_time_is_refused(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = funded(pchain, *[2 * UNIT] * 6)
    overtaken(monkeypatch, 5, rivals(pchain))

    with pytest.raises(ConflictingTx):
        wallet.create_subnet(
            platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=pchain.now
        )

    assert len(list(mempool.oldest_first(platform_chain().db))) == 5


def test_payment_after_spent_coins_uses_others(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = funded(pchain, 3 * UNIT, UNIT)
    issue = rivals(pchain)

    def accept(tx: Tx, issue_tx: Any) -> None:
        issue(tx, issue_tx)
        pchain.wait(1)

    overtaken(monkeypatch, 1, accept)

    issued = wallet.create_subnet(
        platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=pchain.now
    )

    (spent,) = accepted(pchain, issued).unsigned.inputs
    assert spent.input.amount in {UNIT, 3 * UNIT - FEES.create_subnet}


def test_locked_coins_being_staked_are_not_selected(pchain: PChain) -> None:
    until = pchain.now + 400 * DAY
    stake = platform.CONFIG.min_delegator_stake
    locked = pchain.output(stake, ADDRESS, stakeable_until=until)
    pchain.do(pchain.make(platform.BaseTx, locked, pchain.output(3 * stake, ADDRESS)))
    payer = Payer(some_user(KEY), PASSWORD)
    first = wallet.add_delegator(platform_chain(), payer, **delegator(pchain))

    second = wallet.add_delegator(
        platform_chain(), payer, **delegator(pchain, end=pchain.now + 80 * DAY)
    )

    (staked,) = accepted(pchain, first).unsigned.stake
    assert staked == locked
    (staked,) = accepted(pchain, second).unsigned.stake
    assert staked == pchain.output(stake, ADDRESS)


def test_outputs_being_imported_are_not_imported_again(rich: PChain) -> None:
    x_chain = rich.network.x_chain_id
    coming = [platform.utxo(3 * UNIT, EWOQ, asset_id=rich.asset_id, number=n) for n in range(2)]
    shared_outputs.receive(platform_chain().db, x_chain, coming[:1], 1)
    imports = [
        wallet.import_avax(platform_chain(), PAYER, source_chain=x_chain, to=OTHER, now=rich.now)
    ]
    with pytest.raises(ConflictingTx):
        wallet.import_avax(platform_chain(), PAYER, source_chain=x_chain, to=OTHER, now=rich.now)

    shared_outputs.receive(platform_chain().db, x_chain, coming[1:], 2)
    imports.append(
        wallet.import_avax(platform_chain(), PAYER, source_chain=x_chain, to=OTHER, now=rich.now)
    )

    spent = [accepted(rich, item).unsigned.imported_inputs for item in imports]
    assert [[tx_input.utxo_id for tx_input in inputs] for inputs in spent] == [
        [other.utxo_id] for other in coming
    ]


def test_repeated_payment_during_issue_is_a_new_transaction(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    payer = funded(pchain, 2 * UNIT, 2 * UNIT)
    issued: list[IssueResult] = []

    def ask() -> None:
        one = wallet.create_subnet(
            platform_chain(), payer, control_keys=[EWOQ], threshold=1, now=pchain.now
        )
        issued.append(one)

    overtaken(monkeypatch, 1, lambda _tx, _issue_tx: ask())
    ask()

    assert len({item.tx_id for item in issued}) == 2
    for other in issued:
        accepted(pchain, other)


def test_a_claim_ends_with_the_request(rich: PChain) -> None:
    with raises(StakerReason.STAKE_TOO_LOW, kind=InvalidTx) as first:
        wallet.add_validator(platform_chain(), PAYER, **validator(rich, stake=STAKE - 1))
    with raises(StakerReason.STAKE_TOO_LOW, kind=InvalidTx) as second:
        wallet.add_validator(platform_chain(), PAYER, **validator(rich, stake=STAKE - 1))

    assert str(first.value) == str(second.value)
