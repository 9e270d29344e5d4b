"""Sums by day and accounts by balance: equal to a scan of all rows, also after reverts, cheats and pruning."""

from collections import Counter
from typing import Any

import pytest

from cchain_app import models as cchain
from cchain_app.models import Account, AccountChange, Block, Call
from cchain_app.services.calls import index_calls
from cchain_app.store import history
from chaindb.locks import Lock
from explorer_app.models import DayFigures, RankedAccount
from explorer_app.selectors import statistics
from explorer_app.selectors.statistics import RankedBalance
from explorer_app.services import statistics as service
from explorer_app.store import statistics as rows
from explorer_app.store.statistics import SummaryMoved
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.node_settings import updated
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.cchain_app.traced_chain import traced_chain
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")

DAY = 86_400
ETHER = 10**18
OTHER = Address(b"\x33" * 20)


def summarise(chain: Chain) -> int:
    """Write the calls and the summaries up to the head."""
    index_calls(chain.evm, seconds=60)
    return service.summarise(chain.evm, seconds=60)


def ranked() -> dict[bytes, int]:
    """Return the copied balances, without zeros."""
    return {bytes(row.address): row.balance for row in RankedAccount.objects.filter(balance__gt=0)}


def balances() -> dict[bytes, int]:
    """Return the balances of the state, without zeros."""
    return {bytes(row.address): row.balance for row in Account.objects.filter(balance__gt=0)}


def assert_complete(chain: Chain) -> None:
    """Compare the summaries with a scan of all rows."""
    assert ranked() == balances()
    state = statistics.state_of_summaries(chain.evm)
    head = Block.objects.order_by("-number")[0].number
    assert state == (head, head, True, len(balances()), sum(balances().values()), head)
    days: dict[int, Counter[str]] = {}
    for block in Block.objects.filter(number__gt=0):
        sums = days.setdefault(block.timestamp // DAY, Counter())
        sums["blocks"] += 1
        sums["transactions"] += block.transaction_count
        sums["gas_used"] += block.gas_used
        sums["gas_limit"] += block.gas_limit
        sums["burned"] += block.gas_used * block.base_fee
        sums["contracts"] += Call.objects.filter(
            transaction__block=block, creates=True, succeeded=True
        ).count()
        sums["new_accounts"] += AccountChange.objects.filter(
            number=block.number, nonce__isnull=True
        ).count()
    shown = DayFigures.objects.order_by("day")
    names = (
        "blocks",
        "transactions",
        "gas_used",
        "gas_limit",
        "burned",
        "contracts",
        "new_accounts",
    )
    assert [(row.day, [getattr(row, name) for name in names]) for row in shown] == [
        (day, [days[day][name] for name in names]) for day in sorted(days)
    ]
    for row in shown:
        numbers = [block.number for block in Block.objects.filter(number__gt=0) if block.timestamp // DAY == row.day]  # fmt: skip
        assert (row.first_block, row.last_block) == (min(numbers), max(numbers))


def test_blocks_are_summed_by_day_and_accounts_listed_by_balance(chain: Chain) -> None:
    traced_chain(chain)
    summarise(chain)
    chain.now += DAY
    chain.do(to=OTHER, value=5 * ETHER)
    chain.now += 3 * DAY
    chain.mine()
    chain.do(to=RECIPIENT, value=ETHER)
    summarise(chain)

    assert_complete(chain)
    assert DayFigures.objects.count() == 3
    first = DayFigures.objects.order_by("day")[0]
    created_by_contracts = Call.objects.filter(creates=True, succeeded=True, depth__gt=0).count()
    assert created_by_contracts > 0
    assert first.contracts == len(traced_contracts()) + created_by_contracts


def traced_contracts() -> list[cchain.Receipt]:
    return list(cchain.Receipt.objects.filter(contract_address__isnull=False, succeeded=True))


def test_the_summaries_are_continued_in_any_parts(
    chain: Chain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "ACCOUNTS_AT_ONCE", 2)
    monkeypatch.setattr(service, "BLOCKS_AT_ONCE", 2)
    monkeypatch.setattr(service, "TRANSACTIONS_AT_ONCE", 1)
    traced_chain(chain)
    index_calls(chain.evm, seconds=60)
    runs = 0
    while not statistics.state_of_summaries(chain.evm).has_all_accounts:
        service.summarise(chain.evm, seconds=0)
        runs += 1
    assert runs > 3
    chain.do(to=OTHER, value=1)
    summarise(chain)

    assert_complete(chain)


def test_statistics_after_a_revert_equal_those_without_the_blocks(chain: Chain, rpc: Rpc) -> None:
    traced_chain(chain)
    chain.now += DAY
    chain.do(to=OTHER, value=7)
    summarise(chain)
    snapshot, nonce, now = rpc("evm_snapshot"), chain.nonce, chain.now
    chain.do(to=OTHER, value=ETHER)
    chain.now += DAY
    chain.do(to=Address(b"\x44" * 20), value=ETHER)
    summarise(chain)
    assert DayFigures.objects.count() == 3

    assert rpc("evm_revert", snapshot)
    chain.nonce, chain.now = nonce, now + 10

    assert statistics.state_of_summaries(chain.evm).has_all_accounts is False
    summarise(chain)
    assert_complete(chain)
    assert DayFigures.objects.count() == 2
    chain.do(to=Address(b"\x55" * 20), value=3)
    summarise(chain)
    assert_complete(chain)


def test_revert_below_the_initial_copy_compares_all_accounts(chain: Chain, rpc: Rpc) -> None:
    """An account that was emptied before the copy began has no copy, but a balance after the revert."""
    rpc("hardhat_setBalance", f"0x{OTHER.hex()}", hex(ETHER))
    chain.mine()
    snapshot, nonce = rpc("evm_snapshot"), chain.nonce
    rpc("hardhat_setBalance", f"0x{OTHER.hex()}", "0x0")
    chain.mine()
    summarise(chain)
    assert OTHER not in ranked()

    assert rpc("evm_revert", snapshot)
    chain.nonce = nonce
    summarise(chain)

    assert ranked()[OTHER] == ETHER
    assert_complete(chain)


def test_manual_change_after_a_block_change_is_copied(chain: Chain, rpc: Rpc) -> None:
    chain.do(to=OTHER, value=7)
    summarise(chain)
    snapshot = rpc("evm_snapshot")
    rpc("anvil_setBalance", f"0x{OTHER.hex()}", hex(9 * ETHER))
    summarise(chain)
    assert ranked()[OTHER] == 9 * ETHER
    assert_complete(chain)

    assert rpc("evm_revert", snapshot)
    summarise(chain)
    assert ranked()[OTHER] == 7
    rpc("anvil_setBalance", f"0x{OTHER.hex()}", hex(ETHER))
    chain.mine()
    summarise(chain)

    assert ranked()[OTHER] == ETHER
    assert_complete(chain)


def test_revert_corrects_accounts_copied_with_later_balances(chain: Chain, rpc: Rpc) -> None:
    """A copy of an early change has the balance of the head, which a revert to a height between them changes."""
    summarise(chain)
    chain.do(to=OTHER, value=1)
    chain.mine()
    snapshot, nonce = rpc("evm_snapshot"), chain.nonce
    chain.do(to=OTHER, value=ETHER)
    rows.copy_accounts(chain.evm.db, 1, 0, 500, can_revert=True)
    assert ranked()[OTHER] == 1 + ETHER

    assert rpc("evm_revert", snapshot)
    chain.nonce = nonce
    summarise(chain)

    assert ranked()[OTHER] == 1
    assert_complete(chain)


def test_revert_restores_an_account_emptied_before_its_copy(chain: Chain, rpc: Rpc) -> None:
    rpc("hardhat_setBalance", f"0x{OTHER.hex()}", hex(ETHER))
    chain.mine()
    rows.begin(chain.evm.db, 1)
    snapshot, nonce = rpc("evm_snapshot"), chain.nonce
    rpc("hardhat_setBalance", f"0x{OTHER.hex()}", "0x0")
    chain.mine()
    summarise(chain)
    assert OTHER not in ranked()

    assert rpc("evm_revert", snapshot)
    chain.nonce = nonce
    summarise(chain)

    assert ranked()[OTHER] == ETHER
    assert_complete(chain)


def test_undone_manual_changes_mark_only_their_accounts(chain: Chain, rpc: Rpc) -> None:
    chain.do(to=OTHER, value=7)
    summarise(chain)
    for _ in range(2):
        snapshot = rpc("evm_snapshot")
        rpc("anvil_setBalance", f"0x{OTHER.hex()}", hex(ETHER))
        summarise(chain)
        assert ranked()[OTHER] == ETHER
        assert rpc("evm_revert", snapshot)
        stale = RankedAccount.objects.filter(is_stale=True)
        assert [bytes(row.address) for row in stale] == [OTHER]
        summarise(chain)
        assert ranked()[OTHER] == 7
    assert_complete(chain)


def test_a_reset_chain_starts_again(chain: Chain, rpc: Rpc) -> None:
    chain.do(to=OTHER, value=7)
    summarise(chain)
    rpc("anvil_reset")
    chain.nonce = 0
    summarise(chain)

    assert OTHER not in ranked()
    assert DayFigures.objects.count() == 0
    assert ranked() == balances()


def test_an_idle_chain_writes_nothing(chain: Chain, rpc: Rpc, turns: list[Any]) -> None:
    rpc("anvil_setBalance", f"0x{OTHER.hex()}", hex(ETHER))
    summarise(chain)
    turns.clear()
    summarise(chain)

    assert turns == []
    assert_complete(chain)


def test_pruned_changes_are_not_counted_and_all_accounts_compared_again(chain: Chain) -> None:
    chain.do(to=OTHER, value=7)
    summarise(chain)
    chain.now += DAY
    chain.do(to=Address(b"\x44" * 20), value=ETHER)
    chain.do(to=SENDER, value=1)
    db = chain.evm.db
    with db.atomic():
        db.acquire(Lock.CCHAIN)
        history.keep_states_from(db, 2)
        history.delete_changes(db, 1000)
    summarise(chain)

    assert [row.new_accounts for row in DayFigures.objects.order_by("day")] == [2, None]
    assert ranked() == balances()


def test_blocks_counted_by_another_writer_are_refused(chain: Chain) -> None:
    chain.mine()
    db = chain.evm.db
    before = rows.begin(db, 1)
    counted = statistics.count_blocks(
        chain.evm, 1, 1, max_blocks=5, max_transactions=5, has_calls=False
    )
    rows.write_days(db, counted, before)

    with pytest.raises(SummaryMoved):
        rows.write_days(db, counted, before)
    assert DayFigures.objects.get().blocks == 1


def test_blocks_read_before_a_revert_are_refused(chain: Chain, rpc: Rpc) -> None:
    snapshot = rpc("evm_snapshot")
    chain.mine()
    db = chain.evm.db
    before = rows.begin(db, 1)
    counted = statistics.count_blocks(
        chain.evm, 1, 1, max_blocks=5, max_transactions=5, has_calls=False
    )
    assert rpc("evm_revert", snapshot)

    with pytest.raises(SummaryMoved):
        rows.write_days(db, counted, before)
    assert not DayFigures.objects.exists()


def test_pages_of_the_list_are_complete_and_in_order(chain: Chain) -> None:
    for place in range(5):
        chain.do(to=Address(bytes([place + 1] * 20)), value=ETHER)
    summarise(chain)
    evm = chain.evm
    listed: list[RankedBalance] = []
    while part := statistics.accounts_by_balance(
        evm, after=listed[-1] if listed else None, count=2
    ):
        listed += part

    expected = sorted(balances().items(), key=lambda item: (item[1], item[0]), reverse=True)
    assert listed == [RankedBalance(Address(key), balance) for key, balance in expected]


def test_without_an_index_of_calls_creations_by_transactions_are_counted(
    chain: Chain, settings: Any, node_settings: Any
) -> None:
    settings.NODE = updated(node_settings, trace_index="off")
    chain.do(to=None, data=bytecode.deploy_code(bytecode.FACTORY), gas=300_000, value=0)
    service.summarise(chain.evm, seconds=60)

    assert DayFigures.objects.get().contracts == 1
