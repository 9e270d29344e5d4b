"""Diffs of L1s of any depth give the same answers as a plain state with the same changes."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from platform_app.state.chain import Diff
from platform_app.state.l1_validators import (
    Conversion,
    Expiry,
    L1Fees,
    L1Validator,
    L1Validators,
)
from platform_app.txs.l1 import PChainOwner
from primitives.hashing import sha256
from primitives.ids import ID, NodeID
from tests.builders import platform
from tests.builders.platform_state import MemoryState
from tests.searching import cases

SUBNETS = (platform.SUBNET_ID, platform.some_id("another L1"))
NODES = tuple(NodeID(sha256(bytes([number]))[:20]) for number in range(2))
VALIDATIONS = tuple(platform.some_id(f"validation {number}") for number in range(6))
EXPIRIES = tuple(Expiry(time, VALIDATIONS[time]) for time in range(4))

small = st.integers(0, 3)


def validator(validation_id: ID, subnet: int, node: int, weight: int, end: int) -> L1Validator:
    owner = PChainOwner(0, ())
    return L1Validator(
        validation_id, SUBNETS[subnet], NODES[node], bytes(48), owner, owner, 0, weight, 0, end
    )


def answers(l1s: L1Validators) -> dict[str, Any]:
    seats = [(subnet, node) for subnet in SUBNETS for node in NODES]
    return {
        "fees": l1s.fees(),
        "validators": [l1s.get(validation_id) for validation_id in VALIDATIONS],
        "nodes": [l1s.of_node(*seat) for seat in seats],
        "weights": [l1s.total_weight(subnet) for subnet in SUBNETS],
        "active": list(l1s.active()),
        "count": l1s.active_count(),
        "conversions": [l1s.conversion(subnet) for subnet in SUBNETS],
        "expiries": [l1s.has_expiry(expiry) for expiry in EXPIRIES],
        "expired": [list(l1s.expired(time)) for time in range(5)],
    }


class L1DiffMachine(RuleBasedStateMachine):
    """Makes the same changes on a stack of diffs and on a stack of copies of a plain state."""

    def __init__(self) -> None:
        super().__init__()
        ground = MemoryState()
        first = validator(VALIDATIONS[0], 0, 0, 3, 2)
        ground.l1_validators.validators[first.validation_id] = first
        ground.l1_validators.expiries.add(EXPIRIES[1])
        self.diffs = [Diff(ground)]
        self.plain = [ground.copied()]

    @precondition(lambda self: len(self.diffs) < 4)
    @rule()
    def open_another_diff(self) -> None:
        self.diffs.append(Diff(self.diffs[-1]))
        self.plain.append(self.plain[-1].copied())

    @precondition(lambda self: len(self.diffs) > 1)
    @rule()
    def apply_the_last_diff(self) -> None:
        self.diffs.pop().apply(self.diffs[-1])
        self.plain[-2:] = self.plain[-1:]

    @precondition(lambda self: len(self.diffs) > 1)
    @rule()
    def discard_the_last_diff(self) -> None:
        self.diffs.pop()
        self.plain.pop()

    @rule()
    def continue_with_a_copy(self) -> None:
        self.diffs[-1] = self.diffs[-1].copy()

    @rule(number=st.integers(0, len(VALIDATIONS) - 1), weight=small, end=small)
    def put_a_validator(self, number: int, weight: int, end: int) -> None:
        plain = self.plain[-1].l1_validators
        subnet, node = number % 2, number // 2 % 2  # a validation ID is the hash of both
        seated = plain.of_node(SUBNETS[subnet], NODES[node])
        known = plain.get(VALIDATIONS[number])
        if known is None and (weight == 0 or seated is not None):
            return  # the rules add neither removed validators nor a second one of a node
        put = validator(VALIDATIONS[number], subnet, node, weight, end)
        self.diffs[-1].l1_validators.put(put)
        plain.validators.pop(put.validation_id, None)
        if weight:
            plain.validators[put.validation_id] = put

    @rule(expiry=st.sampled_from(EXPIRIES), is_added=st.booleans())
    def change_an_expiry(self, *, expiry: Expiry, is_added: bool) -> None:
        diff, plain = self.diffs[-1].l1_validators, self.plain[-1].l1_validators
        (diff.add_expiry if is_added else diff.remove_expiry)(expiry)
        (plain.expiries.add if is_added else plain.expiries.discard)(expiry)

    @rule(subnet=st.integers(0, 1), excess=small, accrued=small)
    def set_values(self, subnet: int, excess: int, accrued: int) -> None:
        conversion = Conversion(VALIDATIONS[excess], VALIDATIONS[accrued], b"")
        self.diffs[-1].l1_validators.set_fees(L1Fees(excess, accrued))
        self.diffs[-1].l1_validators.convert(SUBNETS[subnet], conversion)
        self.plain[-1].l1_validators.state = L1Fees(excess, accrued)
        self.plain[-1].l1_validators.conversions[SUBNETS[subnet]] = conversion

    @invariant()
    def all_layers_answer_alike(self) -> None:
        for diff, plain in zip(self.diffs, self.plain, strict=True):
            assert answers(diff.l1_validators) == answers(plain.l1_validators)


TestL1Diff = L1DiffMachine.TestCase
TestL1Diff.settings = settings(max_examples=cases(30), stateful_step_count=30, deadline=None)
