"""Auto-renewed validators on a chain: periods one after the other, their uptimes, and the end (etna.md 9)."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from chaindb import clock
from nodeproject.apps import this_node
from platform_app import models
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import BanffAbortBlock, BanffCommitBlock, parse_block
from platform_app.config import DAY, MILLION
from platform_app.executor.errors import AutoRenewalReason
from platform_app.executor.standard import execute
from platform_app.models import Outcome, Phase
from platform_app.selectors import accepted, own_stake, stakers
from platform_app.selectors.coins_held import coins_held
from platform_app.services import mempool, uptime
from platform_app.services.time_travel import time_travel
from platform_app.state.chain import Diff
from platform_app.state.stakers import AutoRenewal
from platform_app.store.state import DatabaseState
from platform_app.txs.base import StakingPeriod, inner_output
from platform_app.txs.codec import CODEC
from platform_app.txs.staking import AddPermissionlessDelegatorTx
from primitives.addresses import format_address
from primitives.ids import NodeID, ShortID
from tests.builders import platform
from tests.builders.platform_replay import assert_replays, remembered
from tests.builders.reasons import raises
from tests.integration.platform_app.conftest import EWOQ, PChain, Rpc, asking
from tests.integration.platform_app.made import OWNERS, node, split, staker_of
from tests.integration.platform_app.produced import Producer, follow
from tests.integration.platform_app.renewed import HOUR, NODE, STAKE, adding, changing
from utxo.components import UTXO


@pytest.fixture
def pchain(helicon_pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> PChain:
    """A network since Helicon; its clock includes the offset that a time travel leaves."""
    monkeypatch.setattr(clock, "now", lambda: helicon_pchain.now + clock.offset())
    return helicon_pchain


@pytest.fixture
def rpc(pchain: PChain) -> Rpc:
    return asking(this_node().endpoints.platform.dispatcher)


def platform_address(address: ShortID) -> str:
    return format_address("P", platform_chain().config.hrp, address)


def weight_at(height: int, node_id: NodeID = NODE) -> int | None:
    members = stakers.validators_at(platform_chain(), height)
    assert members is not None
    return members[node_id].weight if node_id in members else None


def assert_no_coin_is_lost() -> None:
    coins = coins_held(platform_chain())
    assert coins is not None
    assert coins.outputs + coins.stake + coins.burned == coins.genesis + coins.rewards


def test_time_travel_stops_at_the_end_of_each_period(pchain: PChain) -> None:
    tx = pchain.do(adding(pchain))
    start, first = staker_of(tx).start_time, platform_chain().tip().height
    before = remembered()

    time_travel(platform_runtime(), 5 * HOUR + 60)

    blocks = assert_replays(before, first, lambda _block: clock.now())
    ends = [start + count * HOUR for count in range(1, 6)]
    assert [block.time for block in blocks] == [end for end in ends for _ in range(2)]
    row = staker_of(tx)
    assert (row.phase, row.start_time, row.end_time) == (Phase.CURRENT, ends[-1], ends[-1] + HOUR)
    assert (row.added_height, row.joined_height) == (first, first + 10)
    periods = list(row.renewed_periods.order_by("joined_height"))
    assert [period.end_time for period in periods] == ends
    assert [period.joined_height for period in periods] == [first, *range(first + 2, first + 10, 2)]
    assert [period.left_height for period in periods] == list(range(first + 2, first + 12, 2))
    assert {period.up_duration for period in periods} == {HOUR}
    weights = [*(period.weight for period in periods), row.weight]
    assert weights == sorted(set(weights))
    assert row.weight == STAKE + sum(period.potential_reward for period in periods)
    for period in periods:
        heights = range(period.joined_height, period.left_height)
        assert {weight_at(height) for height in heights} == {period.weight}
    assert weight_at(first - 1) is None
    assert weight_at(platform_chain().tip().height) == row.weight
    assert_no_coin_is_lost()


def test_it_leaves_with_all_rewards_when_its_authority_ends_the_renewal(
    pchain: PChain, rpc: Rpc
) -> None:
    tx = pchain.do(adding(pchain, shares=500_000))
    pchain.wait(HOUR)
    pchain.do(changing(pchain, tx, period=0))
    restaked = staker_of(tx).weight - STAKE
    terms = staker_of(tx).auto_renewal
    assert (terms.next_period, terms.auto_compound_shares, terms.reward_tx_id) == (0, 0, None)
    assert terms.accrued_validation_rewards == restaked > 0
    last = staker_of(tx).potential_reward

    pchain.wait(HOUR)

    row = staker_of(tx)
    assert (row.phase, row.outcome, row.left_time) == (Phase.PAST, Outcome.REWARDED, row.end_time)
    assert row.auto_renewal.reward_tx_id is not None
    shown = rpc("platform.getRewardUTXOs", txID=str(row.auto_renewal.reward_tx_id))
    (paid,) = (CODEC.unmarshal(UTXO, bytes.fromhex(raw[2:-8])) for raw in shown["utxos"])
    assert (paid.tx_id, paid.output_index) == (row.auto_renewal.reward_tx_id, 0)
    assert inner_output(paid.output).amount == restaked + last
    assert models.UTXO.objects.filter(tx_id=tx.tx_id, output_index=1).exists()
    assert weight_at(platform_chain().tip().height) is None
    assert weight_at(row.left_height - 1) == STAKE + restaked
    assert_no_coin_is_lost()
    again = pchain.do(adding(pchain))
    assert weight_at(platform_chain().tip().height) == STAKE
    assert models.AutoRenewedValidator.objects.count() == 2
    assert staker_of(again).auto_renewal.next_period == HOUR


@pytest.mark.parametrize(
    ("millionths", "option"), [(899_722, BanffAbortBlock), (900_000, BanffCommitBlock)]
)
def test_ninety_percent_uptime_is_needed_for_the_next_period(
    pchain: PChain, millionths: int, option: type
) -> None:
    uptime.observe(platform_chain(), [node("peer")], pchain.now)
    tx = pchain.do(adding(pchain))
    row = staker_of(tx)
    seconds = -(-HOUR * millionths // MILLION)
    models.ValidatorUptime.objects.filter(staker=row).update(
        up_duration=seconds, last_updated=row.end_time
    )
    supply = models.Supply.objects.get().amount

    *_, block = pchain.wait(HOUR)

    assert type(block) is option
    left = staker_of(tx)
    if option is BanffCommitBlock:
        assert left.phase == Phase.CURRENT
        (period,) = left.renewed_periods.all()
        assert period.up_duration == seconds
        assert (left.uptime.up_duration, left.uptime.last_updated) == (0, row.end_time)
    else:
        assert left.outcome == Outcome.UNREWARDED
        assert models.Supply.objects.get().amount == supply - row.potential_reward
        assert not left.renewed_periods.exists()
    assert_no_coin_is_lost()


@pytest.mark.parametrize(("hundredths", "option"), [(79, BanffAbortBlock), (85, BanffCommitBlock)])
def test_a_delegator_needs_the_uptime_of_its_validators_start(
    pchain: PChain, hundredths: int, option: type
) -> None:
    """The validator started before Helicon, and its delegator since."""
    chain = platform_chain()
    founder = stakers.current_validators(chain).validators[-1]
    helicon = chain.config.upgrades.helicon
    assert founder.start < helicon < pchain.now
    uptime.observe(chain, [node("peer")], pchain.now)
    weight = chain.config.min_delegator_stake
    tx = pchain.do(
        pchain.make(
            AddPermissionlessDelegatorTx,
            validator=StakingPeriod(founder.node_id, 0, pchain.now + 2 * DAY, weight),
            stake=pchain.stake(weight),
            rewards_owner=OWNERS,
        )
    )
    row = staker_of(tx)
    assert row.start_time > helicon
    seconds = (row.end_time - founder.start) * hundredths // 100
    models.ValidatorUptime.objects.filter(staker=founder.tx_id).update(
        up_duration=seconds, last_updated=row.end_time
    )

    *_, block = pchain.wait(3 * DAY)

    assert type(block) is option
    outcome = Outcome.REWARDED if option is BanffCommitBlock else Outcome.UNREWARDED
    assert staker_of(tx).outcome == outcome


def test_uptime_of_each_period_counts_for_itself(pchain: PChain) -> None:
    uptime.observe(platform_chain(), [NODE], pchain.now)
    tx = pchain.do(adding(pchain))
    start = staker_of(tx).start_time
    pchain.wait(start + HOUR - pchain.now)
    uptime.observe(platform_chain(), [], start + HOUR + 600)
    seen = stakers.uptimes(platform_chain(), [NODE])[NODE]

    assert (seen.start, seen.end) == (start + HOUR, start + 2 * HOUR)
    assert seen.up_until(start + HOUR + 1200) == 600
    assert seen.fraction(start + HOUR + 1200) == 0.5


@pytest.mark.parametrize(
    ("began", "seconds"),
    [
        pytest.param(-60, 0, id="tracked before the renewal"),
        pytest.param(300, 300, id="tracked since a restart after it"),
    ],
)
def test_a_disconnected_node_is_offline_after_a_renewal_in_a_block_of_another_node(
    pchain: PChain, began: int, seconds: int
) -> None:
    chain = platform_chain()
    tx = pchain.do(adding(pchain))
    renewal = staker_of(tx).end_time
    producer = Producer(pchain)
    pchain.wait(renewal - pchain.now)
    blocks = producer.hand_over()
    uptime.observe(chain, [NODE], renewal - 120)
    uptime.begin(chain, renewal + began)
    uptime.observe(chain, [node("peer")], renewal + began)
    pchain.now = renewal + 600

    follow(pchain, *blocks)

    seen = stakers.uptimes(chain, [NODE])[NODE]
    assert (seen.start, seen.connected_since) == (renewal, None)
    assert seen.up_until(renewal + 1200) == seconds


def test_a_renewal_in_a_block_of_another_node_counts_as_online_without_tracking(
    pchain: PChain,
) -> None:
    tx = pchain.do(adding(pchain))
    renewal = staker_of(tx).end_time
    producer = Producer(pchain)
    pchain.wait(renewal - pchain.now)
    blocks = producer.hand_over()
    pchain.now = renewal + 600
    follow(pchain, *blocks)
    uptime.observe(platform_chain(), [node("peer")], renewal + 900)

    assert stakers.uptimes(platform_chain(), [NODE])[NODE].up_until(renewal + 1200) == 900


def test_it_is_shown_with_its_terms(pchain: PChain, rpc: Rpc) -> None:
    tx = pchain.do(adding(pchain, shares=300_000))
    (shown,) = rpc("platform.getCurrentValidators", nodeIDs=[str(NODE)])["validators"]

    assert shown["txID"] == str(tx.tx_id)
    assert (shown["nextPeriod"], shown["autoCompoundRewardShares"]) == (str(HOUR), "300000")
    assert shown["validatorAuthority"] == shown["rewardOwner"]
    assert (shown["weight"], shown["delegationFee"]) == (str(STAKE), "10.0000")
    assert shown["endTime"] == str(int(shown["startTime"]) + HOUR)
    pchain.do(changing(pchain, tx, shares=1, period=2 * HOUR))
    (shown,) = rpc("platform.getCurrentValidators", nodeIDs=[str(NODE)])["validators"]
    assert (shown["nextPeriod"], shown["autoCompoundRewardShares"]) == (str(2 * HOUR), "1")
    others = rpc("platform.getCurrentValidators")["validators"]
    assert sum("nextPeriod" in other for other in others) == 1
    ewoq = platform_address(EWOQ)
    stake = rpc("platform.getStake", addresses=[ewoq], validatorsOnly=True)
    assert int(stake["staked"]) == STAKE


def test_the_mempool_refuses_a_change_that_no_validator_has(pchain: PChain) -> None:
    tx = changing(pchain, platform.signed())
    (refused,) = mempool.issue(platform_chain(), [tx], now=pchain.now)
    assert str(refused) == AutoRenewalReason.STAKER_TX_MISSING.value


def test_changes_of_terms_are_verified_with_prefetched_rows(pchain: PChain) -> None:
    added = [pchain.do(adding(pchain, node_id=bytes(node(name)))) for name in ("one", "two")]
    split(pchain, 3)
    changes = [changing(pchain, tx, period=2 * HOUR) for tx in (*added, pchain.make())]
    chain = platform_chain()
    state = DatabaseState(chain.db)
    env = chain.env(state.network, pchain.now)
    state.prefetch(changes)
    diff = Diff(state)

    with CaptureQueriesContext(connection) as asked:
        for tx in changes[:2]:
            execute(tx, diff, env)
        with raises(AutoRenewalReason.STAKER_TX_MISSING):
            execute(changes[2], diff, env)

    assert len(asked) == 0, asked.captured_queries
    assert [diff.stakers.auto_renewal(tx.tx_id) for tx in added] == [
        AutoRenewal(2 * HOUR, 0) for _ in added
    ]


def test_a_change_in_the_last_block_of_a_period_counts(pchain: PChain) -> None:
    tx = pchain.do(adding(pchain))
    change = changing(pchain, tx, period=0)
    pchain.issue(change)
    option = pchain.wait(2 * HOUR)[-1]

    proposal = accepted.block_at(platform_chain(), option.height - 1)
    assert proposal is not None
    assert [one.tx_id for one in parse_block(proposal.raw).txs] == [change.tx_id]
    assert staker_of(tx).outcome == Outcome.REWARDED


def test_a_node_is_renewed_on_the_terms_of_its_last_period(pchain: PChain) -> None:
    tx = pchain.do(adding(pchain, delegation_shares=250_000))
    assert own_stake.is_validator(platform_chain(), NODE)
    time_travel(platform_runtime(), HOUR)
    terms = own_stake.last_terms(platform_chain(), NODE)

    assert terms is not None
    assert (terms.weight, terms.shares) == (staker_of(tx).weight, 250_000)
    assert terms.signer == platform.proof_of_possession()


def test_a_waiting_transaction_makes_a_node_a_validator_soon(pchain: PChain) -> None:
    assert not own_stake.has_pending_validator_tx(platform_chain(), NODE)
    pchain.issue(adding(pchain))
    assert own_stake.has_pending_validator_tx(platform_chain(), NODE)
    assert not own_stake.has_pending_validator_tx(platform_chain(), node("other"))


def test_the_proposals_are_stored_with_their_status(pchain: PChain) -> None:
    pchain.do(adding(pchain))
    time_travel(platform_runtime(), HOUR)
    row = models.Tx.objects.get(kind=models.TxKind.REWARD_AUTO_RENEWED_VALIDATOR)
    stored = accepted.block_at(platform_chain(), row.height)

    assert stored is not None
    block = parse_block(stored.raw)
    assert block.proposal is not None
    assert (block.proposal.tx_id, row.status, row.burned) == (row.tx_id, models.Tx.COMMITTED, 0)
