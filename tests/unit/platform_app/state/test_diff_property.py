"""A diff of any depth gives the same answers as a plain state with the same changes."""

from dataclasses import replace
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from platform_app.state.chain import ChainState, Diff
from platform_app.state.facets import FeeState
from platform_app.state.stakers import AutoRenewal, Priority, Staker
from platform_app.txs.base import TxStatus
from platform_app.txs.subnets import CreateChainTx
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.builders.platform_state import MemoryState, staker
from tests.searching import cases

SUBNETS = (PRIMARY_NETWORK_ID, platform.SUBNET_ID)
NODES = tuple(NodeID(sha256(bytes([number]))[:20]) for number in range(3))
UTXOS = tuple(platform.utxo(number + 1, number=number) for number in range(6))
SHARED = tuple(platform.utxo(number + 1, number=number + 50) for number in range(3))
TX_IDS = tuple(platform.some_id(f"staking {number}") for number in range(8))
TXS = tuple(platform.signed(CreateChainTx, chain_name=f"chain {number}") for number in range(3))
OWNERS = tuple(map(platform.owners, platform.ADDRESSES))

small = st.integers(0, 3)
any_staker = st.builds(
    lambda number, subnet, node, end, priority: staker(
        tx_id=TX_IDS[number],
        subnet_id=SUBNETS[subnet],
        node_id=NODES[node],
        start=platform.NOW + end - 2,
        end=platform.NOW + end,
        weight=number + 1,
        priority=priority,
    ),
    st.integers(0, len(TX_IDS) - 1),
    st.integers(0, 1),
    st.integers(0, 2),
    small,
    st.sampled_from(Priority),
)


def answers(state: ChainState) -> dict[str, Any]:
    """Return all answers of a state about the objects of these tests."""
    seats = [(subnet, node) for subnet in SUBNETS for node in NODES]
    return {
        "timestamp": state.clock.timestamp(),
        "fee state": state.clock.fee_state(),
        "supplies": [state.supplies.get(subnet) for subnet in SUBNETS],
        "utxos": [state.utxos.get(utxo.utxo_id) for utxo in UTXOS],
        "shared": [state.utxos.shared(platform.X_CHAIN_ID, utxo.utxo_id) for utxo in SHARED],
        "validators": [state.stakers.validator(*seat) for seat in seats],
        "delegators": [
            sorted(state.stakers.delegators(*seat), key=lambda s: s.tx_id) for seat in seats
        ],
        "current": list(state.stakers.current()),
        "pending": list(state.stakers.pending()),
        "stakers": [state.stakers.get(tx_id) for tx_id in TX_IDS],
        "delegatee rewards": [state.stakers.delegatee_reward(tx_id) for tx_id in TX_IDS],
        "auto renewals": [state.stakers.auto_renewal(tx_id) for tx_id in TX_IDS],
        "owners": [state.subnets.owner(subnet) for subnet in SUBNETS],
        "chains": [state.subnets.of_blockchain(tx.tx_id) for tx in TXS],
        "txs": [state.txs.get(tx.tx_id) for tx in TXS],
    }


class DiffMachine(RuleBasedStateMachine):
    """Makes the same changes on a stack of diffs and on a stack of copies of a plain state."""

    def __init__(self) -> None:
        super().__init__()
        self.ground = MemoryState()
        self.ground.fund(*UTXOS[:3])
        self.ground.share(platform.X_CHAIN_ID, *SHARED)
        self.ground.subnets.owners[SUBNETS[0]] = OWNERS[0]
        for number, node in enumerate(NODES[:2]):
            self.ground.stakers[TX_IDS[number]] = staker(tx_id=TX_IDS[number], node_id=node)
        self.seen = {*self.ground.stakers, *self.ground.utxos}
        self.diffs = [Diff(self.ground)]
        self.plain = [self.ground.copied()]

    @precondition(lambda self: len(self.diffs) < 4)
    @rule()
    def open_another_diff(self) -> None:
        self.diffs.append(Diff(self.diffs[-1]))
        self.plain.append(self.plain[-1].copied())

    @precondition(lambda self: len(self.diffs) > 1)
    @rule()
    def keep_what_was_tried(self) -> None:
        tried = self.diffs.pop()
        tried.apply(self.diffs[-1])
        self.plain[-2:] = self.plain[-1:]

    @precondition(lambda self: len(self.diffs) > 1)
    @rule()
    def throw_away_what_was_tried(self) -> None:
        self.diffs.pop()
        self.plain.pop()

    @rule()
    def go_on_with_a_copy(self) -> None:
        self.diffs[-1] = self.diffs[-1].copy()

    @rule(time=small, gas=small, subnet=st.integers(0, 1), supply=small)
    def set_numbers(self, time: int, gas: int, subnet: int, supply: int) -> None:
        self.diffs[-1].clock.set_timestamp(time)
        self.diffs[-1].clock.set_fee_state(FeeState(gas, gas))
        self.diffs[-1].supplies.set(SUBNETS[subnet], supply)
        self.plain[-1].clock.time = time
        self.plain[-1].clock.fees = FeeState(gas, gas)
        self.plain[-1].supplies[SUBNETS[subnet]] = supply

    @rule(number=st.integers(0, len(UTXOS) - 1))
    def produce_or_consume(self, number: int) -> None:
        utxo = UTXOS[number]
        if self.plain[-1].utxos.pop(utxo.utxo_id, None):
            self.diffs[-1].utxos.consume(utxo.utxo_id)
        elif utxo.utxo_id not in self.seen:
            self.seen.add(utxo.utxo_id)
            self.plain[-1].fund(utxo)
            self.diffs[-1].utxos.produce(utxo)

    @rule(number=st.integers(0, len(SHARED) - 1))
    def import_once(self, number: int) -> None:
        key = (platform.X_CHAIN_ID, SHARED[number].utxo_id)
        if self.plain[-1].utxos.from_peers.pop(key, None):
            self.diffs[-1].utxos.consume_shared(*key, ID(b"\1" * 32))

    @rule(made=any_staker)
    def put_a_staker_on_a_free_seat(self, made: Staker) -> None:
        known = self.plain[-1].stakers.get(made.tx_id)
        if known is None and made.tx_id in self.seen:
            return  # no transaction is accepted twice, so no ID is added twice
        self.seen.add(made.tx_id)
        made = made if known is None else replace(known, end=made.end, weight=made.weight)
        seated = self.plain[-1].stakers.validator(made.subnet_id, made.node_id)
        if made.priority.is_delegator or seated is None or seated.tx_id == made.tx_id:
            self.plain[-1].stakers[made.tx_id] = made
            self.diffs[-1].stakers.put(made)

    @rule(number=st.integers(0, len(TX_IDS) - 1))
    def promote_or_remove_a_staker(self, number: int) -> None:
        known = self.plain[-1].stakers.get(TX_IDS[number])
        if known is None:
            return
        if known.priority.is_pending:
            known = known.promoted(potential_reward=number)
            self.plain[-1].stakers[known.tx_id] = known
            self.diffs[-1].stakers.put(known)
        else:
            del self.plain[-1].stakers[known.tx_id]
            self.diffs[-1].stakers.remove(known)

    @rule(number=st.integers(0, len(TX_IDS) - 1), amount=small)
    def set_delegatee_reward(self, number: int, amount: int) -> None:
        self.plain[-1].stakers.delegatee_rewards[TX_IDS[number]] = amount
        self.diffs[-1].stakers.set_delegatee_reward(TX_IDS[number], amount)

    @rule(number=st.integers(0, len(TX_IDS) - 1), period=small, restaked=small)
    def renew_a_validator_or_set_its_terms(self, number: int, period: int, restaked: int) -> None:
        terms = AutoRenewal(period, number, restaked, number)
        known = self.plain[-1].stakers.get(TX_IDS[number])
        if known is not None and not known.priority.is_pending and restaked:
            end = known.end + period
            renewed = replace(known, start=known.end, end=end, weight=known.weight + restaked)
            self.plain[-1].stakers[known.tx_id] = renewed
            self.diffs[-1].stakers.put(renewed)
        self.plain[-1].stakers.auto_renewals[TX_IDS[number]] = terms
        self.diffs[-1].stakers.set_auto_renewal(TX_IDS[number], terms)

    @rule(subnet=st.integers(0, 1), owner=st.sampled_from(OWNERS))
    def add_a_subnet_or_change_its_owner(self, subnet: int, owner: Any) -> None:
        is_new = SUBNETS[subnet] not in self.plain[-1].subnets.owners
        write = self.diffs[-1].subnets.add if is_new else self.diffs[-1].subnets.set_owner
        write(SUBNETS[subnet], owner)
        self.plain[-1].subnets.owners[SUBNETS[subnet]] = owner

    @rule(number=st.integers(0, len(TXS) - 1))
    def accept_a_tx(self, number: int) -> None:
        tx = TXS[number]
        self.diffs[-1].subnets.add_blockchain(tx)
        self.diffs[-1].txs.add(tx, TxStatus.COMMITTED)
        self.plain[-1].subnets.blockchains[tx.tx_id] = tx.unsigned.subnet_id
        self.plain[-1].txs.accepted[tx.tx_id] = (tx, TxStatus.COMMITTED)

    @invariant()
    def they_answer_alike(self) -> None:
        for diff, plain in list(zip(self.diffs, self.plain, strict=True))[-2:]:
            assert answers(diff) == answers(plain)

    @invariant()
    def the_changes_lead_to_the_same_state(self) -> None:
        written = self.ground.copied()
        for diff in self.diffs:
            written.accept(diff)

        assert answers(written) == answers(self.plain[-1])


DiffMachine.TestCase.settings = settings(
    max_examples=cases(15), stateful_step_count=25, deadline=None
)
TestDiff = DiffMachine.TestCase
