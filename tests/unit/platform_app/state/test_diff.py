"""The changes that a diff reports."""

from platform_app.state.chain import FeeState
from platform_app.state.diff import Diff
from platform_app.state.staker import Priority
from platform_app.txs.base import TxStatus
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders import platform, platform_state
from tests.builders.platform_state import staker, stakers


def test_a_new_diff_changes_nothing() -> None:
    changes = Diff(platform_state.state()).changes()

    assert changes.timestamp is None
    assert changes.fee_state is None
    assert not any((changes.supplies, changes.produced, changes.consumed, changes.stakers))
    assert not any((changes.left_stakers, changes.txs, changes.subnets, changes.exported))


def test_an_output_that_is_spent_again_is_neither_produced_nor_consumed() -> None:
    diff = Diff(platform_state.state())
    diff.produce(platform.utxo())
    diff.consume(platform.utxo().utxo_id)

    assert diff.utxo(platform.utxo().utxo_id) is None
    assert diff.changes().produced == ()
    assert diff.changes().consumed == ()


def test_an_output_of_the_diff_below_that_is_spent_here_is_consumed_here() -> None:
    below = Diff(platform_state.state())
    below.produce(platform.utxo())
    diff = Diff(below)
    diff.consume(platform.utxo().utxo_id)

    assert diff.changes().consumed == (platform.utxo().utxo_id,)

    diff.apply(below)

    assert below.changes().consumed == ()
    assert below.changes().produced == ()


def test_a_staker_that_came_and_left_is_among_those_that_left() -> None:
    came = staker(priority=Priority.PERMISSIONED_VALIDATOR_PENDING)
    diff = Diff(platform_state.state())
    diff.put_staker(came)
    diff.remove_staker(came)

    assert diff.changes().stakers == ()
    assert diff.changes().left_stakers == (came,)
    assert list(diff.pending_stakers()) == []


def test_a_seat_that_one_left_can_be_taken_by_another_in_the_same_diff() -> None:
    first, second = staker("first"), staker("second")
    below = Diff(platform_state.state(stakers=stakers(first)))
    diff = Diff(below)
    diff.remove_staker(first)
    diff.put_staker(second)
    diff.apply(below)

    assert below.validator(PRIMARY_NETWORK_ID, platform.NODE_ID) == second
    assert below.staker(first.tx_id) is None
    assert list(below.current_stakers()) == [second]


def test_stakers_below_are_walked_no_further_than_asked() -> None:
    class Counting(platform_state.MemoryState):
        seen = 0

        def current_stakers(self):
            for one in super().current_stakers():
                self.seen += 1
                yield one

    many = [staker(f"staker {n}", end=platform.NOW + n) for n in range(100)]
    ground = Counting(stakers=stakers(*many))
    diff = Diff(ground)
    diff.put_staker(staker("another", end=platform.NOW + 2))

    assert next(diff.current_stakers()) == many[0]
    assert ground.seen <= 2


def test_a_new_owner_of_a_new_subnet_is_its_first() -> None:
    diff = Diff(platform_state.state())
    diff.add_subnet(platform.SUBNET_ID, platform.owners())
    diff.set_subnet_owner(platform.SUBNET_ID, platform.owners(platform.ADDRESSES[1]))

    expected = ((platform.SUBNET_ID, platform.owners(platform.ADDRESSES[1])),)
    assert diff.changes().subnets == expected
    assert diff.changes().subnet_owners == {}


def test_everything_that_was_set_is_among_the_changes() -> None:
    tx, utxo = platform.signed(CreateChainTx), platform.utxo(number=3)
    diff = Diff(platform_state.state(owners={platform.SUBNET_ID: platform.owners()}))
    diff.set_timestamp(5)
    diff.set_fee_state(FeeState(1, 2))
    diff.set_supply(PRIMARY_NETWORK_ID, 7)
    diff.consume_shared(platform.X_CHAIN_ID, utxo.utxo_id)
    diff.export(platform.C_CHAIN_ID, utxo)
    diff.set_delegatee_reward(tx.tx_id, 8)
    diff.set_subnet_owner(platform.SUBNET_ID, platform.owners(platform.ADDRESSES[1]))
    diff.add_chain(tx)
    diff.add_tx(tx, TxStatus.COMMITTED)
    diff.add_reward_utxo(tx.tx_id, utxo)

    for changes in (diff.changes(), diff.copy().changes()):
        assert changes.timestamp == 5
        assert changes.fee_state == FeeState(1, 2)
        assert changes.supplies == {PRIMARY_NETWORK_ID: 7}
        assert changes.imported == ((platform.X_CHAIN_ID, utxo.utxo_id),)
        assert changes.exported == ((platform.C_CHAIN_ID, utxo),)
        assert changes.delegatee_rewards == {tx.tx_id: 8}
        assert changes.subnet_owners == {platform.SUBNET_ID: platform.owners(platform.ADDRESSES[1])}
        assert changes.chains == (tx,)
        assert changes.txs == ((tx, TxStatus.COMMITTED),)
        assert changes.reward_utxos == ((tx.tx_id, utxo),)


def test_a_copy_goes_its_own_way() -> None:
    diff = Diff(platform_state.state(platform.utxo()))
    diff.put_staker(staker())
    twin = diff.copy()
    twin.remove_staker(staker())
    twin.consume(platform.utxo().utxo_id)

    assert list(diff.current_stakers()) == [staker()]
    assert diff.utxo(platform.utxo().utxo_id) == platform.utxo()
    assert list(twin.current_stakers()) == []
