"""Verification of a block against its parent: one test for each rule that may be broken."""

from dataclasses import replace
from typing import Any

import pytest

from network_app.proposervm import errors, windower
from network_app.proposervm.block import build_option, build_unsigned
from network_app.proposervm.building import BlockSigner, build_child
from network_app.proposervm.epochs import Epoch
from network_app.proposervm.verification import (
    InnerContext,
    ParentContext,
    follow,
    inner_height_of,
    of_genesis,
    verify_child,
)
from primitives.ids import NodeID
from primitives.upgrades import UpgradeTimes
from tests.builders.outer_blocks import (
    ALICE,
    BOB,
    CHAIN,
    HEAD,
    INNER,
    NOW,
    PARENT,
    Case,
    an_id,
    signed,
)
from tests.builders.reasons import raises

GENESIS = of_genesis(an_id("genesis"), NOW - 100)
FIRST_INNER = InnerContext(an_id("inner 1"), GENESIS.inner_id, 1)
NEXT_EPOCH = Epoch(7, 4, NOW - 40)


def unsigned(**changed: Any) -> Case:
    return Case(build_unsigned(**HEAD | changed))


def first(**changed: Any) -> Case:
    """Return a block on top of genesis."""
    head = HEAD | {"parent_id": GENESIS.outer_id, "epoch": None} | changed
    return Case(build_unsigned(**head), GENESIS, FIRST_INNER)


def option() -> Case:
    """Return an option of a proposal."""
    return Case(
        build_option(PARENT.outer_id, b"commit"),
        replace(PARENT, options=(an_id("abort"), INNER.block_id)),
        INNER,
    )


def nobody(height: int) -> dict[NodeID, int]:
    return {}


def never(height: int) -> dict[NodeID, int]:
    raise AssertionError(height)


def test_a_block_of_the_slots_owner_is_accepted() -> None:
    Case(signed()).verify()


def test_the_first_block_is_unsigned_and_nobodys() -> None:
    first().verify(proposers=never)


def test_an_option_follows_a_proposal() -> None:
    option().verify(proposers=never)


def test_block_without_validators_is_unsigned() -> None:
    unsigned().verify(proposers=nobody)


def test_another_outer_parent() -> None:
    stranger = an_id("stranger")
    words = f"^outer parentID {stranger} didn't match expected parent {PARENT.outer_id}$"
    with raises(errors.OuterBlockReason.WRONG_PARENT, kind=errors.OuterBlockError, match=words):
        Case(signed(parent_id=stranger)).verify()


@pytest.mark.parametrize("case", [Case(signed()), option()], ids=["signed", "option"])
def test_another_inner_parent(case: Case) -> None:
    words = f"^inner parentID {PARENT.outer_id} didn't match expected parent {PARENT.inner_id}$"
    with raises(
        errors.OuterBlockReason.WRONG_INNER_PARENT, kind=errors.OuterBlockError, match=words
    ):
        case.with_inner(parent_id=PARENT.outer_id).verify()


@pytest.mark.parametrize("case", [Case(signed()), option()], ids=["signed", "option"])
def test_another_height(case: Case) -> None:
    words = "^block height 6 didn't match expected height 5$"
    with raises(
        errors.OuterBlockReason.WRONG_INNER_HEIGHT, kind=errors.OuterBlockError, match=words
    ):
        case.with_inner(height=6).verify()


def test_a_signed_block_on_a_proposal() -> None:
    with raises(
        errors.OuterBlockReason.OPTION_EXPECTED,
        kind=errors.OuterBlockError,
        match=r"expected an option of the proposal$",
    ):
        Case(signed()).with_parent(options=(INNER.block_id,)).verify()


def test_an_options_wrapping_around_another_block() -> None:
    with raises(
        errors.OuterBlockReason.NOT_AN_OPTION,
        kind=errors.OuterBlockError,
        match=r"^the inner block is no option of the proposal$",
    ):
        option().with_inner(block_id=an_id("stranger")).verify()


def test_an_option_on_no_proposal() -> None:
    with raises(
        errors.OuterBlockReason.PROPOSAL_EXPECTED,
        kind=errors.OuterBlockError,
        match=r"the parent is no proposal$",
    ):
        option().with_parent(options=()).verify()
    with raises(
        errors.OuterBlockReason.PROPOSAL_EXPECTED,
        kind=errors.OuterBlockError,
        match=r"the parent is no proposal$",
    ):
        replace(
            option(), block=build_option(GENESIS.outer_id, b"commit"), parent=GENESIS,
            inner=FIRST_INNER,
        ).verify()  # fmt: skip


@pytest.mark.parametrize("bootstrapping", [False, True])
def test_a_signed_first_block(*, bootstrapping: bool) -> None:
    case = Case(signed(parent_id=GENESIS.outer_id, epoch=None), GENESIS, FIRST_INNER)
    words = f"^child of a bare block is signed by {ALICE.node_id}$"
    with raises(errors.OuterBlockReason.SIGNED_TOO_EARLY, kind=errors.OuterBlockError, match=words):
        case.verify(bootstrapping=bootstrapping)


def test_a_first_block_with_an_epoch() -> None:
    with raises(
        errors.OuterBlockReason.WRONG_EPOCH,
        kind=errors.OuterBlockError,
        match=r"^epoch mismatch: Epoch\(.*\) != expected None$",
    ):
        first(epoch=Epoch(8, 1, NOW)).verify()


@pytest.mark.parametrize("bootstrapping", [False, True])
def test_a_time_before_the_parents(*, bootstrapping: bool) -> None:
    words = f"^time must monotonically increase: {NOW - 61} < {NOW - 60}$"
    with raises(errors.OuterBlockReason.TIME_DECREASED, kind=errors.OuterBlockError, match=words):
        Case(signed(time=NOW - 61)).verify(bootstrapping=bootstrapping)


def test_the_parents_time_is_early_enough() -> None:
    Case(signed(time=PARENT.time)).verify()


@pytest.mark.parametrize("bootstrapping", [False, True])
def test_a_lower_p_chain_height(*, bootstrapping: bool) -> None:
    words = "^non monotonically increasing P-chain height: 6 < 7$"
    with raises(errors.OuterBlockReason.HEIGHT_DECREASED, kind=errors.OuterBlockError, match=words):
        Case(signed(p_chain_height=6)).verify(bootstrapping=bootstrapping)


@pytest.mark.parametrize("bootstrapping", [False, True])
def test_a_time_of_the_future(*, bootstrapping: bool) -> None:
    Case(signed(time=NOW + 10)).verify(bootstrapping=bootstrapping)
    words = f"^time is too far advanced: {NOW + 11} > {NOW + 10}$"
    with raises(
        errors.OuterBlockReason.TIME_TOO_ADVANCED, kind=errors.OuterBlockTooEarly, match=words
    ):
        Case(signed(time=NOW + 11)).verify(bootstrapping=bootstrapping)


def test_a_p_chain_height_that_is_not_there_yet() -> None:
    words = "^block P-chain height larger than current P-chain height: 8 > 7$"
    for case in (Case(signed()), first()):
        with raises(
            errors.OuterBlockReason.HEIGHT_NOT_REACHED, kind=errors.OuterBlockTooEarly, match=words
        ):
            case.verify(p_height=7)


def test_early_blocks_are_refused_with_their_own_reasons() -> None:
    for late in (signed(BOB, time=NOW + 99), signed(BOB, p_chain_height=99)):
        with raises(errors.OuterBlockReason.UNEXPECTED_PROPOSER, kind=errors.OuterBlockError):
            Case(late).verify()


def test_another_epoch() -> None:
    after = Case(signed(epoch=NEXT_EPOCH)).with_parent(time=NOW - 40)
    after.verify()
    with raises(
        errors.OuterBlockReason.WRONG_EPOCH, kind=errors.OuterBlockError, match=r"^epoch mismatch: "
    ):
        Case(signed()).with_parent(time=NOW - 40).verify()
    after.verify(upgrades=UpgradeTimes(granite_epoch_duration=35))
    with raises(
        errors.OuterBlockReason.WRONG_EPOCH, kind=errors.OuterBlockError, match=r"^epoch mismatch: "
    ):
        after.verify(upgrades=UpgradeTimes(granite_epoch_duration=36))
    with raises(
        errors.OuterBlockReason.WRONG_EPOCH, kind=errors.OuterBlockError, match=r"!= expected None$"
    ):
        Case(signed()).verify(upgrades=UpgradeTimes(granite=NOW + 1))


def test_the_height_of_the_inner_block_by_upgrade() -> None:
    before = replace(PARENT, epoch=None)
    with_epoch, without = signed(), signed(epoch=None)
    for block, parent, upgrades, height in (
        (with_epoch, PARENT, UpgradeTimes(), 6),  # the epoch's
        (without, before, UpgradeTimes(granite=NOW + 1), 8),  # the block's own
        (
            without,
            before,
            UpgradeTimes(etna=NOW + 1, fortuna=NOW + 1, granite=NOW + 1),
            7,
        ),  # the parent's
        (without, GENESIS, UpgradeTimes(), None),
        (option().block, PARENT, UpgradeTimes(), None),
        (None, PARENT, UpgradeTimes(), None),
    ):
        assert inner_height_of(block, parent, upgrades) == height


def test_block_in_a_foreign_slot_is_refused() -> None:
    words = f"^unexpected proposer for current window: slot 12 expects {ALICE.node_id}$"
    with raises(
        errors.OuterBlockReason.UNEXPECTED_PROPOSER, kind=errors.OuterBlockError, match=words
    ):
        Case(signed(BOB)).verify()
    with raises(
        errors.OuterBlockReason.UNEXPECTED_PROPOSER, kind=errors.OuterBlockError, match=words
    ):
        unsigned().verify()


def test_slot_owners_are_validators_at_the_parents_height() -> None:
    stake = {ALICE.node_id: 3, BOB.node_id: 1}
    owners = {
        time: windower.proposer_at(CHAIN, 5, windower.slot_of(time, PARENT.time), stake)
        for time in range(PARENT.time, NOW + 1, windower.WINDOW_DURATION)
    }
    assert set(owners.values()) == {ALICE.node_id, BOB.node_id}
    for time, owner in owners.items():
        by, other = (ALICE, BOB) if owner == ALICE.node_id else (BOB, ALICE)
        Case(signed(by, time=time)).verify(proposers={7: stake}.__getitem__)
        with raises(errors.OuterBlockReason.UNEXPECTED_PROPOSER, kind=errors.OuterBlockError):
            Case(signed(other, time=time)).verify(proposers={7: stake}.__getitem__)


def test_signed_block_without_validators_is_refused() -> None:
    words = "^proposer mismatch: the block should be unsigned$"
    with raises(
        errors.OuterBlockReason.PROPOSER_MISMATCH, kind=errors.OuterBlockError, match=words
    ):
        Case(signed()).verify(proposers=nobody)


@pytest.mark.parametrize("bootstrapping", [False, True])
def test_a_signature_for_another_chain(*, bootstrapping: bool) -> None:
    words = f"^invalid signature of {ALICE.node_id}$"
    with raises(errors.OuterBlockReason.WRONG_SIGNATURE, kind=errors.OuterBlockError, match=words):
        Case(signed(chain_id=an_id("another"))).verify(bootstrapping=bootstrapping)


def test_a_signature_of_another_key() -> None:
    mixed = ALICE._replace(key=BOB.key)
    words = f"^invalid signature of {ALICE.node_id}$"
    with raises(errors.OuterBlockReason.WRONG_SIGNATURE, kind=errors.OuterBlockError, match=words):
        Case(signed(mixed)).verify()


def test_malformed_signature_is_refused() -> None:
    with raises(errors.OuterBlockReason.WRONG_SIGNATURE, kind=errors.OuterBlockError):
        Case(replace(signed(), signature=b"no signature")).verify()


@pytest.mark.parametrize(
    "block",
    [signed(BOB), signed(p_chain_height=99), signed(epoch=None), HEAD],
    ids=["proposer", "height", "epoch", "head"],
)
def test_proposer_is_not_checked_while_bootstrapping(block: Any) -> None:
    case = unsigned() if block is HEAD else Case(block)
    case.verify(bootstrapping=True, proposers=never)
    with pytest.raises(errors.OuterBlockError):
        case.verify()


class TestBeforeDurango:
    UPGRADES = UpgradeTimes(durango=NOW, etna=NOW, fortuna=NOW, granite=NOW)
    STAKE = {ALICE.node_id: 2, BOB.node_id: 1}

    def verify(self, case: Case) -> None:
        case.verify(proposers={7: self.STAKE}.__getitem__, upgrades=self.UPGRADES)

    def test_nodes_wait_for_their_window(self) -> None:
        owners = windower.window_owners(CHAIN, 5, self.STAKE)
        for node in (ALICE, BOB):
            start = PARENT.time + windower.minimum_delay(owners, node.node_id)
            self.verify(Case(signed(node, time=start, epoch=None)))
            if start > PARENT.time:
                words = r"^proposer window hasn't started: delay \d+ s < \d+ s$"
                with raises(
                    errors.OuterBlockReason.WINDOW_NOT_STARTED,
                    kind=errors.OuterBlockError,
                    match=words,
                ):
                    self.verify(Case(signed(node, time=start - 1, epoch=None)))

    def test_any_node_proposes_unsigned_after_30_seconds(self) -> None:
        self.verify(unsigned(time=PARENT.time + 30, epoch=None))
        with raises(
            errors.OuterBlockReason.WINDOW_NOT_STARTED,
            kind=errors.OuterBlockError,
            match=r"delay 29 s < 30 s$",
        ):
            self.verify(unsigned(time=PARENT.time + 29, epoch=None))
        with raises(
            errors.OuterBlockReason.PROPOSER_MISMATCH,
            kind=errors.OuterBlockError,
            match=r"should be unsigned$",
        ):
            self.verify(Case(signed(time=PARENT.time + 30, epoch=None)))


def test_a_chain_that_is_built_is_accepted() -> None:
    """The chain has genesis, blocks through several epochs, a proposal, its option, and a block after it."""
    signature = BlockSigner(CHAIN, ALICE.certificate, ALICE.key)
    parent, numbers = GENESIS, []
    for height in range(1, 12):
        inner = InnerContext(
            an_id(f"inner {height}"), parent.inner_id, height,
            options=(an_id("inner 9"), an_id("abort")) if height == 8 else (),
        )  # fmt: skip
        block = (
            build_option(parent.outer_id, b"commit")
            if height == 9
            else build_child(
                parent, b"inner", time=GENESIS.time + 9 * height,
                p_chain_height=height // 2, signature=signature,
            )
        )  # fmt: skip
        verify_child(
            block, parent, inner=inner, chain_id=CHAIN, now=NOW, p_height=height,
            bootstrapping=False, proposers=lambda _: {ALICE.node_id: 1},
        )  # fmt: skip
        parent = follow(parent, block, inner)
        numbers.append(parent.epoch and parent.epoch.number)

    assert numbers == [None, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3]
    assert parent.height == 11


def test_an_option_hands_on_its_proposals_times() -> None:
    proposal = replace(PARENT, options=(INNER.block_id, an_id("abort")))
    block = build_option(proposal.outer_id, b"commit")

    assert follow(proposal, block, INNER) == ParentContext(
        block.outer_id, INNER.block_id, 5, PARENT.time, PARENT.p_chain_height, PARENT.epoch
    )


def test_a_child_is_never_before_or_below_its_parent() -> None:
    signature = BlockSigner(CHAIN, ALICE.certificate, ALICE.key)
    built = build_child(PARENT, b"inner", time=5, p_chain_height=3, signature=signature)

    assert (built.time, built.p_chain_height, built.epoch) == (PARENT.time, 7, PARENT.epoch)
    assert built.proposer == ALICE.node_id
