"""The rows after a commit have the same content as the diff before it, at every height."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from platform_app.apps import platform_chain
from platform_app.selectors import outputs, stakers
from platform_app.state.chain import ChainState, Diff
from platform_app.state.facets import FeeState
from platform_app.state.stakers import AutoRenewal, Priority, Staker
from platform_app.store.state import DatabaseState
from platform_app.txs import subnets
from platform_app.txs.base import TxStatus, inner_output
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID, ShortID
from tests.builders import platform, platform_rows
from tests.builders.platform_state import MemoryState
from tests.builders.process import restart_node
from tests.builders.shared_outputs import receive
from tests.searching import cases
from utxo.components import UTXO

pytestmark = pytest.mark.django_db

NODES = tuple(NodeID(sha256(b"node %d" % number)[:20]) for number in range(4))
ADDED = (
    Priority.PRIMARY_VALIDATOR_PENDING,
    Priority.PRIMARY_VALIDATOR_CURRENT,
    Priority.PRIMARY_DELEGATOR_PENDING,
    Priority.PRIMARY_DELEGATOR_CURRENT,
    Priority.PERMISSIONED_VALIDATOR_PENDING,
    Priority.PERMISSIONED_VALIDATOR_CURRENT,
)


class History:
    """Makes random changes on diffs, commits them, and keeps the expected state in memory."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.count = 0
        self.subnets: list[ID] = [PRIMARY_NETWORK_ID]
        self.utxo_ids: list[ID] = []
        self.shared: list[tuple[ID, ID]] = []
        self.tx_ids: list[ID] = []
        self.staking: list[ID] = []
        self.locked: dict[ID, int] = {}
        """The outputs that auto-renewed validators have staked, without restaked rewards."""
        self.renewable: set[ID] = set()
        """Auto-renewed validators that earlier blocks have added and this block has not renewed."""
        platform_rows.begin()
        self.memory = MemoryState(time=platform.NOW, fees=FeeState(), supplies={})
        self.members: list[dict[ID, dict[NodeID, int]]] = [{}]

    def block(self) -> None:
        """Make some changes, commit them as a block, and compare."""
        diff = Diff(DatabaseState(platform_chain().db))
        diff.clock.set_timestamp(diff.clock.timestamp() + 1)
        for _ in range(self.random.randint(1, 12)):
            self.random.choice(self.ACTIONS)(self, diff)
        expected = self.answers(diff)
        self.memory.accept(diff)
        self.renewable = {
            tx_id for tx_id in self.memory.stakers if tx_id in self.memory.stakers.auto_renewals
        }
        platform_rows.accept_diff(diff)

        assert self.answers(DatabaseState(platform_chain().db)) == expected
        assert self.answers(self.memory) == expected
        self.members.append(self.present_members())

    def answers(self, state: ChainState) -> dict[str, Any]:
        """Return everything that a state contains about all objects that ever existed."""
        seats = [(subnet, node) for subnet in self.subnets for node in NODES]
        if isinstance(state, DatabaseState):
            state.utxos.load(self.utxo_ids[::2])
            state.stakers.load_validators(PRIMARY_NETWORK_ID, NODES[:2])
        return {
            "timestamp": state.clock.timestamp(),
            "fee state": state.clock.fee_state(),
            "supplies": [state.supplies.get(subnet) for subnet in self.subnets],
            "utxos": [state.utxos.get(utxo_id) for utxo_id in self.utxo_ids],
            "shared": [state.utxos.shared(*item) for item in self.shared],
            "validators": [state.stakers.validator(*seat) for seat in seats],
            "delegators": [
                sorted(state.stakers.delegators(*seat), key=lambda one: one.tx_id) for seat in seats
            ],
            "current": list(state.stakers.current()),
            "pending": list(state.stakers.pending()),
            "stakers": [state.stakers.get(tx_id) for tx_id in self.staking],
            "rewards": [
                state.stakers.delegatee_reward(tx_id)
                for tx_id in self.staking
                if state.stakers.get(tx_id)
            ],
            "auto renewals": [
                state.stakers.auto_renewal(tx_id)
                for tx_id in self.staking
                if state.stakers.get(tx_id)
            ],
            "owners": [state.subnets.owner(subnet) for subnet in self.subnets],
            "chains": [state.subnets.of_blockchain(tx_id) for tx_id in self.tx_ids],
            "txs": [state.txs.get(tx_id) for tx_id in self.tx_ids],
        }

    def number(self) -> int:
        self.count += 1
        return self.count

    def any_number(self) -> int:
        return self.random.choice((0, 7, self.random.getrandbits(64)))

    def some_addresses(self) -> list[ShortID]:
        return self.random.sample(platform.ADDRESSES, self.random.randint(1, 3))

    def produce(self, diff: Diff) -> None:
        utxo = self.utxo()
        self.utxo_ids.append(utxo.utxo_id)
        diff.utxos.produce(utxo)

    def consume(self, diff: Diff) -> None:
        present = [utxo_id for utxo_id in self.utxo_ids if diff.utxos.get(utxo_id)]
        if present:
            diff.utxos.consume(self.random.choice(present))

    def export(self, diff: Diff) -> None:
        diff.utxos.export(platform.C_CHAIN_ID, self.utxo(stakeable=False))

    def take_import(self, diff: Diff) -> None:
        present = [item for item in self.shared if diff.utxos.shared(*item)]
        if present:
            diff.utxos.consume_shared(*self.random.choice(present), ID(b"\1" * 32))

    def add_staker(self, diff: Diff) -> None:
        priority = self.random.choice(ADDED)
        made, change = platform_rows.adding(
            priority,
            subnet_id=self.random.choice(self.subnets),
            node_id=self.random.choice(NODES),
            start=platform.NOW + self.random.randint(0, 3),
            end=platform.NOW + 5 + self.random.randint(0, 3),
            weight=self.number(),
        )
        free = (
            made.priority.is_delegator
            or diff.stakers.validator(made.subnet_id, made.node_id) is None
        )
        if free and diff.stakers.get(made.tx_id) is None:
            self.staking.append(made.tx_id)
            self.tx_ids.append(made.tx_id)
            change(diff)

    def move_staker(self, diff: Diff) -> None:
        """Make a pending staker current, or remove a current one."""
        present = [*diff.stakers.pending(), *diff.stakers.current()]
        if not present:
            return
        staker = self.random.choice(present)
        if staker.priority.is_pending and self.random.random() < 0.7:
            reward = self.random.randint(0, 3)
            diff.stakers.put(replace(staker.promoted(potential_reward=reward), start=staker.start))
        else:
            diff.stakers.remove(staker)

    def some_terms(self) -> AutoRenewal:
        return AutoRenewal(
            self.random.choice((0, 3, 365)), self.number(), self.any_number(), self.any_number()
        )

    def add_auto_renewed(self, diff: Diff) -> None:
        node_id = self.random.choice(NODES)
        if diff.stakers.validator(PRIMARY_NETWORK_ID, node_id) is None:
            end = platform.NOW + 5 + self.random.randint(0, 3)
            made, change = platform_rows.adding_auto_renewed(
                self.some_terms(),
                node_id=node_id,
                start=platform.NOW + self.count,
                end=end + self.count,
                weight=self.number(),
            )
            self.staking.append(made.tx_id)
            self.tx_ids.append(made.tx_id)
            self.locked[made.tx_id] = made.weight
            change(diff)

    def renew_or_change_terms(self, diff: Diff) -> None:
        present = [
            staker for staker in diff.stakers.current() if diff.stakers.auto_renewal(staker.tx_id)
        ]
        if not present:
            return
        staker = self.random.choice(present)
        if staker.tx_id in self.renewable:
            self.renewable.remove(staker.tx_id)
            _, change = platform_rows.renewing(
                staker,
                self.some_terms(),
                end=staker.end + self.number(),
                weight=self.number(),
                potential_reward=self.any_number(),
            )
            change(diff)
        else:
            diff.stakers.set_auto_renewal(staker.tx_id, self.some_terms())

    def set_rewards(self, diff: Diff) -> None:
        for staker in diff.stakers.current():
            if not staker.priority.is_delegator:
                diff.stakers.set_delegatee_reward(staker.tx_id, self.any_number())
                return

    def set_numbers(self, diff: Diff) -> None:
        diff.clock.set_fee_state(FeeState(self.any_number(), self.any_number()))
        diff.supplies.set(self.random.choice(self.subnets), self.any_number())

    def add_subnet(self, diff: Diff) -> None:
        owner = platform.owners(*self.some_addresses())
        tx = platform.signed(subnets.CreateSubnetTx, owner=owner, memo=b"%d" % self.number())
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.subnets.add(tx.tx_id, owner)
        self.subnets.append(tx.tx_id)
        self.tx_ids.append(tx.tx_id)

    def change_owner(self, diff: Diff) -> None:
        for subnet_id in self.subnets[1:]:
            if diff.subnets.owner(subnet_id):
                owner = platform.owners(*self.some_addresses(), locktime=self.any_number())
                diff.subnets.set_owner(subnet_id, owner)

    def add_chain(self, diff: Diff) -> None:
        subnet_id = self.random.choice(self.subnets)
        name = f"chain {self.number()}"
        tx = platform.signed(subnets.CreateChainTx, subnet_id=subnet_id, chain_name=name)
        diff.txs.add(tx, TxStatus.COMMITTED)
        diff.subnets.add_blockchain(tx)
        self.tx_ids.append(tx.tx_id)

    ACTIONS = (
        produce, produce, consume, export, take_import, add_staker, add_staker, add_staker,
        add_staker, add_auto_renewed, add_auto_renewed, renew_or_change_terms, renew_or_change_terms,
        renew_or_change_terms, move_staker, set_rewards, set_numbers, add_subnet, change_owner, add_chain,
    )  # fmt: skip

    def receive(self) -> None:
        """Let another chain export an output, between two blocks."""
        utxo = self.utxo(stakeable=False)
        self.shared.append((platform.X_CHAIN_ID, utxo.utxo_id))
        self.memory.share(platform.X_CHAIN_ID, utxo)
        receive(platform_chain().db, platform.X_CHAIN_ID, [utxo], height=1)

    def utxo(self, *, stakeable: bool = True) -> UTXO:
        """Return an output; outputs that may be staked while they are locked cannot leave the chain."""
        locked = self.random.choice((None, 1 + self.any_number() // 2)) if stakeable else None
        return platform.utxo(
            1 + self.any_number() // 2,
            *self.some_addresses(),
            number=self.number(),
            stakeable_until=locked,
            locktime=self.any_number(),
        )

    def present_members(self) -> dict[ID, dict[NodeID, int]]:
        """Return the weights of all current validators including their delegators, by subnet."""
        weights: dict[ID, dict[NodeID, int]] = {}
        seated = {
            (staker.subnet_id, staker.node_id): staker
            for staker in self.memory.stakers.values()
            if not staker.priority.is_delegator and not staker.priority.is_pending
        }
        for subnet_id, node_id in seated:
            of_subnet = weights.setdefault(subnet_id, {})
            of_subnet[node_id] = sum(
                item.weight
                for item in self.memory.stakers.values()
                if (item.subnet_id, item.node_id) == (subnet_id, node_id)
                and not item.priority.is_pending
            )
        return weights

    def owned(self, address: ShortID) -> list[ID]:
        return sorted(
            utxo_id
            for utxo_id, utxo in self.memory.utxos.items()
            if address in inner_output(utxo.output).owners.addresses
        )


@given(st.randoms(use_true_random=True))
@settings(
    max_examples=cases(12),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_rows_answer_as_the_diff_did_that_was_committed(random: Random) -> None:
    with transaction.atomic():
        restart_node()
        history = History(random)
        for _ in range(12):
            history.block()
            history.receive()

        assert_every_height_has_its_validators(history)
        assert_pages_hold_every_output_once(history, random.randint(1, 5))
        assert_stake_is_that_of_the_present(history)
        transaction.set_rollback(True)


def assert_every_height_has_its_validators(history: History) -> None:
    for height, members in enumerate(history.members):
        for subnet_id in history.subnets:
            found = stakers.validators_at(platform_chain(), height, subnet_id)
            assert found is not None
            assert {node: one.weight for node, one in found.items()} == members.get(subnet_id, {})
    assert stakers.validators_at(platform_chain(), len(history.members)) is None
    for subnet_id in history.subnets:
        current = stakers.current_validators(platform_chain(), subnet_id)
        weights = {
            validator.node_id: validator.weight + validator.delegator_weight
            for validator in current.validators
        }
        assert weights == history.members[-1].get(subnet_id, {})


def assert_pages_hold_every_output_once(history: History, limit: int) -> None:
    for address in platform.ADDRESSES:
        pages = [outputs.utxos_of(platform_chain(), [address], limit=limit)]
        while len(pages[-1].utxos) == limit:
            pages.append(
                outputs.utxos_of(platform_chain(), [address], limit=limit, after=pages[-1].end)
            )
        found = [raw for page in pages for raw in page.utxos]
        assert found == [
            platform_rows.raw_utxo(history.memory.utxos[item]) for item in history.owned(address)
        ]
    everything = outputs.utxos_of(platform_chain(), platform.ADDRESSES).utxos
    assert len(everything) == len(set(everything)) == len(history.memory.utxos)


def assert_stake_is_that_of_the_present(history: History) -> None:
    staked = outputs.stake_of(platform_chain(), platform.ADDRESSES)
    by_validators = outputs.stake_of(platform_chain(), platform.ADDRESSES, validators_only=True)
    present: list[Staker] = [
        staker for staker in history.memory.stakers.values() if not staker.priority.is_permissioned
    ]
    locked = {other.tx_id: history.locked.get(other.tx_id, other.weight) for other in present}
    assert sum(item.amount for item in staked) == sum(locked.values())
    assert sum(by_validator.amount for by_validator in by_validators) == sum(
        locked[entry.tx_id] for entry in present if not entry.priority.is_delegator
    )
