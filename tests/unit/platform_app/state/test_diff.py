"""The changes that a diff reports."""

from platform_app.state.chain import Diff
from platform_app.state.facets import ClockChanges, FeeState
from platform_app.state.stakers import Priority, StakerDiff
from platform_app.txs.base import TxStatus
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID, PRIMARY_NETWORK_ID
from tests.builders import platform, platform_state
from tests.builders.platform_state import staker, stakers


def test_a_new_diff_changes_nothing() -> None:
    diff = Diff(platform_state.state())

    assert diff.clock.changes() == ClockChanges(None, None)
    assert not any(
        (
            diff.supplies.changes(),
            diff.utxos.changes().produced,
            diff.utxos.changes().consumed,
            diff.stakers.changes().present,
        )
    )
    assert not any(
        (
            diff.stakers.changes().left,
            diff.txs.changes(),
            diff.subnets.changes().added,
            diff.utxos.changes().exported,
        )
    )


def test_an_output_that_is_spent_again_is_neither_produced_nor_consumed() -> None:
    diff = Diff(platform_state.state())
    diff.utxos.produce(platform.utxo())
    diff.utxos.consume(platform.utxo().utxo_id)

    assert diff.utxos.get(platform.utxo().utxo_id) is None
    assert diff.utxos.changes().produced == ()
    assert diff.utxos.changes().consumed == ()


def test_an_output_of_the_diff_below_that_is_spent_here_is_consumed_here() -> None:
    below = Diff(platform_state.state())
    below.utxos.produce(platform.utxo())
    diff = Diff(below)
    diff.utxos.consume(platform.utxo().utxo_id)

    assert diff.utxos.changes().consumed == (platform.utxo().utxo_id,)

    diff.apply(below)

    assert below.utxos.changes().consumed == ()
    assert below.utxos.changes().produced == ()


def test_staker_added_and_removed_in_a_diff_is_listed_as_removed() -> None:
    came = staker(priority=Priority.PERMISSIONED_VALIDATOR_PENDING)
    diff = Diff(platform_state.state())
    diff.stakers.put(came)
    diff.stakers.remove(came)

    assert diff.stakers.changes().present == ()
    assert diff.stakers.changes().left == (came,)
    assert list(diff.stakers.pending()) == []


def test_node_id_of_a_removed_staker_can_be_reused_in_one_diff() -> None:
    first, second = staker("first"), staker("second")
    below = Diff(platform_state.state(stakers=stakers(first)))
    diff = Diff(below)
    diff.stakers.remove(first)
    diff.stakers.put(second)
    diff.apply(below)

    assert below.stakers.validator(PRIMARY_NETWORK_ID, platform.NODE_ID) == second
    assert below.stakers.get(first.tx_id) is None
    assert list(below.stakers.current()) == [second]


def test_parent_stakers_are_iterated_lazily() -> None:
    class CountingStakers(platform_state.MemoryStakers):
        seen = 0

        def current(self):
            for item in super().current():
                self.seen += 1
                yield item

    many = [staker(f"staker {n}", end=platform.NOW + n) for n in range(100)]
    below = CountingStakers(stakers(*many))
    diff = StakerDiff(below)
    diff.put(staker("another", end=platform.NOW + 2))

    assert next(diff.current()) == many[0]
    assert 1 <= below.seen <= 2


def test_a_new_owner_of_a_new_subnet_is_its_first() -> None:
    diff = Diff(platform_state.state())
    diff.subnets.add(platform.SUBNET_ID, platform.owners())
    diff.subnets.set_owner(platform.SUBNET_ID, platform.owners(platform.ADDRESSES[1]))

    expected = ((platform.SUBNET_ID, platform.owners(platform.ADDRESSES[1])),)
    assert diff.subnets.changes().added == expected
    assert diff.subnets.changes().owners == {}


def test_everything_that_was_set_is_among_the_changes() -> None:
    tx, utxo = platform.signed(CreateChainTx), platform.utxo(number=3)
    diff = Diff(platform_state.state(owners={platform.SUBNET_ID: platform.owners()}))
    diff.clock.set_timestamp(5)
    diff.clock.set_fee_state(FeeState(1, 2))
    diff.supplies.set(PRIMARY_NETWORK_ID, 7)
    diff.utxos.consume_shared(platform.X_CHAIN_ID, utxo.utxo_id, ID(b"\1" * 32))
    diff.utxos.export(platform.C_CHAIN_ID, utxo)
    diff.stakers.set_delegatee_reward(tx.tx_id, 8)
    diff.subnets.set_owner(platform.SUBNET_ID, platform.owners(platform.ADDRESSES[1]))
    diff.subnets.add_blockchain(tx)
    diff.txs.add(tx, TxStatus.COMMITTED)
    diff.utxos.add_reward(tx.tx_id, utxo)

    for changed in (diff, diff.copy()):
        assert changed.clock.changes().timestamp == 5
        assert changed.clock.changes().fee_state == FeeState(1, 2)
        assert changed.supplies.changes() == {PRIMARY_NETWORK_ID: 7}
        assert changed.utxos.changes().imported == ((platform.X_CHAIN_ID, utxo.utxo_id),)
        assert changed.utxos.changes().exported == ((platform.C_CHAIN_ID, utxo),)
        assert changed.stakers.changes().delegatee_rewards == {tx.tx_id: 8}
        assert changed.subnets.changes().owners == {
            platform.SUBNET_ID: platform.owners(platform.ADDRESSES[1])
        }
        assert changed.subnets.changes().blockchains == (tx,)
        assert changed.txs.changes() == ((tx, TxStatus.COMMITTED),)
        assert changed.utxos.changes().rewards == ((tx.tx_id, utxo),)


def test_copied_diff_is_independent() -> None:
    diff = Diff(platform_state.state(platform.utxo()))
    diff.stakers.put(staker())
    twin = diff.copy()
    twin.stakers.remove(staker())
    twin.utxos.consume(platform.utxo().utxo_id)

    assert list(diff.stakers.current()) == [staker()]
    assert diff.utxos.get(platform.utxo().utxo_id) == platform.utxo()
    assert list(twin.stakers.current()) == []
