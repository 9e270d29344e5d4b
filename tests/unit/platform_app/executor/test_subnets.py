"""Subnets: their owners, validators and blockchains, error by error (pchain.md 5.3, 5.4.3)."""

from dataclasses import replace
from typing import Any

import pytest

from platform_app.config import DAY, UNIT
from platform_app.executor.errors import StakerReason, TxStateReason
from platform_app.executor.standard import execute
from platform_app.state.chain import Diff
from platform_app.state.stakers import Priority, Staker
from platform_app.txs.base import AuthInput
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.subnets import (
    AddSubnetValidatorTx,
    CreateChainTx,
    CreateSubnetTx,
    RemoveSubnetValidatorTx,
    TransferSubnetOwnershipTx,
)
from tests.builders import platform
from tests.builders.platform_state import (
    MemoryState,
    assert_refused,
    env,
    executed,
    staker,
    stakers,
    state,
)
from utxo.components import OutputOwners
from utxo.errors import CredentialReason, InvalidTx

NOW = platform.NOW
SUBNET = platform.SUBNET_ID
FUNDS = platform.utxo(2 * UNIT)
ONE, TWO, THREE = platform.ADDRESSES[:3]
KEY_1, KEY_2, KEY_3 = platform.KEYS[:3]
AUTHORIZED = [
    CreateChainTx,
    AddSubnetValidatorTx,
    RemoveSubnetValidatorTx,
    TransferSubnetOwnershipTx,
]
WITH_PREFIX = [AddSubnetValidatorTx, RemoveSubnetValidatorTx, TransferSubnetOwnershipTx]


def on_subnet(name: str = "on subnet", **changes: Any) -> Staker:
    return staker(
        name,
        **{
            "subnet_id": SUBNET,
            "weight": 20,
            "priority": Priority.PERMISSIONED_VALIDATOR_CURRENT,
            **changes,
        },
    )


def ready(kind: type, owner: OutputOwners | None = None) -> MemoryState:
    """A state in which a transaction of this kind is accepted."""
    made = state(FUNDS, owners={SUBNET: owner or platform.owners()})
    seated = [staker()]
    if kind is RemoveSubnetValidatorTx:
        seated.append(on_subnet())
    made.stakers |= stakers(*seated)
    return made


def test_a_subnet_is_created_with_its_owner() -> None:
    owner = platform.owners(ONE, TWO, threshold=2)
    tx = platform.signed(CreateSubnetTx, owner=owner)

    assert executed(tx, state(FUNDS)).subnets.changes().added == ((tx.tx_id, owner),)


def test_creating_a_subnet_burns_the_smaller_fee() -> None:
    # The static fee is 100,000. Gas costs 5,139: 339 bytes, 1 read, 3 writes, 200 microseconds.
    tx = platform.signed(CreateSubnetTx, outputs=platform.outputs(2 * UNIT - 100))

    assert_refused(
        tx,
        state(FUNDS),
        TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
        f"insufficient unlocked funds: needs 5039 more {platform.ASSET_ID}",
    )


def test_a_blockchain_is_created_on_a_subnet() -> None:
    tx = platform.signed(CreateChainTx)
    diff = executed(tx, ready(CreateChainTx))

    assert diff.subnets.changes().blockchains == (tx,)
    assert diff.subnets.of_blockchain(tx.tx_id) == SUBNET


def test_a_subnet_gets_another_owner() -> None:
    tx = platform.signed(TransferSubnetOwnershipTx, new_owner=platform.owners(TWO))
    diff = executed(tx, ready(TransferSubnetOwnershipTx))

    assert diff.subnets.changes().owners == {SUBNET: platform.owners(TWO)}


def test_the_former_owner_decides_nothing_any_more() -> None:
    holder = ready(TransferSubnetOwnershipTx)
    tx = platform.signed(TransferSubnetOwnershipTx, new_owner=platform.owners(TWO))
    holder.accept(executed(tx, holder))
    holder.fund(FUNDS)

    assert_refused(
        platform.signed(CreateChainTx),
        holder,
        TxStateReason.UNAUTHORIZED_MODIFICATION,
        f"unauthorized modification: wrong signature: expected signature from {TWO} "
        f"but got from {ONE}",
        because=CredentialReason.WRONG_SIGNER,
    )


def test_a_validator_waits_for_its_start() -> None:
    tx = platform.signed(AddSubnetValidatorTx)
    (added,) = executed(tx, ready(AddSubnetValidatorTx)).stakers.changes().present

    assert added == Staker(
        tx_id=tx.tx_id,
        node_id=platform.NODE_ID,
        subnet_id=SUBNET,
        weight=20,
        start=NOW + 60,
        end=NOW + 60 + 14 * DAY,
        potential_reward=0,
        priority=Priority.PERMISSIONED_VALIDATOR_PENDING,
    )


@pytest.mark.parametrize("start", [0, NOW - 1, NOW])
def test_subnet_validator_with_past_start_starts_immediately(start: int) -> None:
    """Today's SDKs send 0, because the reference has ignored the field since Durango."""
    (begun,) = executed(added(start=start), ready(AddSubnetValidatorTx)).stakers.changes().present

    assert (begun.start, begun.end) == (NOW, NOW + 60 + 14 * DAY)
    assert (begun.priority, begun.potential_reward) == (Priority.PERMISSIONED_VALIDATOR_CURRENT, 0)


@pytest.mark.parametrize(
    "priority",
    [Priority.PERMISSIONED_VALIDATOR_CURRENT, Priority.PERMISSIONED_VALIDATOR_PENDING],
)
def test_a_validator_is_removed_at_once(priority: Priority) -> None:
    holder = ready(RemoveSubnetValidatorTx)
    gone = on_subnet(priority=priority)
    holder.stakers[gone.tx_id] = gone
    diff = executed(platform.signed(RemoveSubnetValidatorTx), holder)

    assert diff.stakers.changes().left == (gone,)
    assert diff.stakers.validator(SUBNET, platform.NODE_ID) is None


@pytest.mark.parametrize("is_helicon", [False, True])
def test_a_block_adds_a_validator_after_its_removal_since_helicon_only(*, is_helicon: bool) -> None:
    holder = ready(AddSubnetValidatorTx)
    gone = on_subnet(priority=Priority.PERMISSIONED_VALIDATOR_CURRENT)
    holder.stakers[gone.tx_id] = gone
    upgrades = replace(platform.CONFIG.upgrades, helicon=NOW if is_helicon else NOW + 1)
    changed = env(config=replace(platform.CONFIG, upgrades=upgrades))
    diff = Diff(holder)
    diff.stakers.remove(gone)
    tx = platform.signed(AddSubnetValidatorTx)

    if is_helicon:
        execute(tx, diff, changed)
        assert [added.tx_id for added in diff.stakers.changes().present] == [tx.tx_id]
    else:
        with pytest.raises(InvalidTx) as refusal:
            execute(tx, diff, changed)
        assert refusal.value.reason is StakerReason.ADDED_AFTER_REMOVAL
        assert str(refusal.value) == "attempted to add a staker after deleting it"
        execute(tx, Diff(diff), changed)  # the next block may add it


@pytest.mark.parametrize("kind", AUTHORIZED)
def test_two_of_three_control_keys_agree(kind: type) -> None:
    owner = platform.owners(ONE, TWO, THREE, threshold=2)
    tx = platform.signed(
        kind,
        subnet_authorization=AuthInput((0, 2)),
        keys=[[KEY_1], [KEY_1, KEY_3]],
    )

    assert executed(tx, ready(kind, owner)).utxos.changes().consumed == (FUNDS.utxo_id,)


@pytest.mark.parametrize("kind", AUTHORIZED)
def test_subnet_transaction_without_credentials_is_refused(kind: type) -> None:
    assert_refused(
        platform.signed(kind, keys=[]),
        ready(kind),
        TxSyntaxReason.CREDENTIALS_DIFFER_FROM_INPUTS,
        "should have the same number of credentials as inputs",
    )


@pytest.mark.parametrize("kind", [CreateChainTx, TransferSubnetOwnershipTx, AddSubnetValidatorTx])
def test_a_subnet_exists(kind: type) -> None:
    holder = ready(kind)
    holder.subnets.owners.clear()

    assert_refused(platform.signed(kind), holder, TxStateReason.SUBNET_NOT_FOUND, "not found")


REFUSED_AUTHORIZATIONS: list[Any] = [
    (
        platform.owners(ONE, TWO, threshold=2),
        {},
        CredentialReason.TOO_FEW_SIGNERS,
        "input has less signers than expected",
    ),
    (
        platform.owners(ONE, TWO),
        {"subnet_authorization": AuthInput((0, 1)), "keys": [[KEY_1], [KEY_1, KEY_2]]},
        CredentialReason.TOO_MANY_SIGNERS,
        "input has more signers than expected",
    ),
    (
        platform.owners(ONE),
        {"keys": [[KEY_1], [KEY_1, KEY_2]]},
        CredentialReason.SIGNERS_DIFFER_FROM_SIGNATURES,
        "input expected a different number of signers than provided in the credential",
    ),
    (
        platform.owners(ONE),
        {"subnet_authorization": AuthInput((3,))},
        CredentialReason.NONEXISTENT_ADDRESS,
        "input referenced a nonexistent address in the output",
    ),
    (
        platform.owners(ONE, locktime=NOW + 1),
        {},
        CredentialReason.TIME_LOCKED,
        "output is time locked",
    ),
    (
        platform.owners(ONE),
        {"keys": [[KEY_1], [KEY_2]]},
        CredentialReason.WRONG_SIGNER,
        f"wrong signature: expected signature from {ONE} but got from {TWO}",
    ),
]


@pytest.mark.parametrize("kind", AUTHORIZED)
@pytest.mark.parametrize(("owner", "changes", "reason", "words"), REFUSED_AUTHORIZATIONS)
def test_only_the_owner_modifies_a_subnet(
    kind: type, owner: OutputOwners, changes: dict[str, Any], reason: Any, words: str
) -> None:
    assert_refused(
        platform.signed(kind, **changes),
        ready(kind, owner),
        TxStateReason.UNAUTHORIZED_MODIFICATION,
        f"unauthorized modification: {words}",
        because=reason,
    )


def test_an_owner_waits_for_its_time_on_the_chain() -> None:
    holder = ready(CreateChainTx, platform.owners(ONE, locktime=NOW + 1))
    holder.clock.time = NOW + 1

    assert executed(platform.signed(CreateChainTx), holder).subnets.changes().blockchains


@pytest.mark.parametrize("kind", WITH_PREFIX)
def test_the_fee_is_paid(kind: type) -> None:
    assert_refused(
        platform.signed(kind, outputs=platform.outputs(2 * UNIT)),
        ready(kind),
        TxStateReason.FLOW_CHECK_FAILED,
        f"flow check failed: insufficient unlocked funds: needs 1000 more {platform.ASSET_ID}",
        because=TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
    )


def test_the_fee_of_a_blockchain_is_paid() -> None:
    assert_refused(
        platform.signed(CreateChainTx, outputs=platform.outputs(2 * UNIT)),
        ready(CreateChainTx),
        TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
        f"insufficient unlocked funds: needs 9104 more {platform.ASSET_ID}",
    )


@pytest.mark.parametrize("kind", WITH_PREFIX)
def test_the_owner_s_credential_opens_no_input(kind: type) -> None:
    assert_refused(
        platform.signed(kind, keys=[[KEY_1]]),
        ready(kind),
        TxStateReason.FLOW_CHECK_FAILED,
        "flow check failed: wrong number of credentials: 1 inputs != 0 credentials",
        because=TxStateReason.WRONG_NUMBER_OF_CREDENTIALS,
    )


def added(**changes: Any):
    return platform.signed(AddSubnetValidatorTx, validator=platform.subnet_validator(**changes))


ADDING: list[Any] = [
    (
        {"end": NOW + 60 + DAY - 1},
        StakerReason.PERIOD_TOO_SHORT,
        "staking period is too short",
    ),
    (
        {"end": NOW + 61 + 365 * DAY},
        StakerReason.PERIOD_TOO_LONG,
        "staking period is too long",
    ),
    (
        {"start": 0, "end": NOW + DAY - 1},
        StakerReason.PERIOD_TOO_SHORT,
        "staking period is too short",
    ),
    (
        {"end": staker().end + 1},
        StakerReason.PERIOD_MISMATCH,
        "proposed staking period is not inside dependent staking period",
    ),
    (
        {"start": NOW + 14 * DAY + 1, "end": NOW + 16 * DAY},
        StakerReason.START_TOO_FAR_AHEAD,
        "staker is attempting to start staking more than 336h0m0s ahead of the current chain time",
    ),
]


@pytest.mark.parametrize(("changes", "reason", "words"), ADDING)
def test_a_validator_s_period_keeps_to_the_rules(
    changes: dict[str, int], reason: Any, words: str
) -> None:
    assert_refused(added(**changes), ready(AddSubnetValidatorTx), reason, words)


@pytest.mark.parametrize(
    "priority",
    [Priority.PERMISSIONED_VALIDATOR_CURRENT, Priority.PERMISSIONED_VALIDATOR_PENDING],
)
def test_a_node_validates_a_subnet_once(priority: Priority) -> None:
    holder = ready(AddSubnetValidatorTx)
    seated = on_subnet(priority=priority)
    holder.stakers[seated.tx_id] = seated

    assert_refused(
        added(),
        holder,
        StakerReason.DUPLICATE_SUBNET_VALIDATOR,
        f"attempted to issue duplicate validator for {platform.NODE_ID} on subnet {SUBNET}",
    )


def test_a_validator_validates_the_primary_network() -> None:
    holder = ready(AddSubnetValidatorTx)
    holder.stakers.clear()

    assert_refused(
        added(),
        holder,
        StakerReason.NOT_PRIMARY_VALIDATOR,
        f"{platform.NODE_ID} isn't a current or pending validator of the primary network",
    )


def test_a_pending_validator_of_the_primary_network_will_do() -> None:
    holder = ready(AddSubnetValidatorTx)
    holder.stakers = stakers(staker(start=NOW + 60, priority=Priority.PRIMARY_VALIDATOR_PENDING))

    assert executed(added(), holder).stakers.changes().present


def test_removal_of_a_non_validator_is_refused() -> None:
    assert_refused(
        platform.signed(RemoveSubnetValidatorTx),
        ready(AddSubnetValidatorTx),
        StakerReason.NOT_SUBNET_VALIDATOR,
        f"{platform.NODE_ID} isn't a current or pending validator of {SUBNET}: not found",
    )


def test_a_permissionless_validator_cannot_be_removed() -> None:
    holder = ready(RemoveSubnetValidatorTx)
    seated = on_subnet(priority=Priority.SUBNET_VALIDATOR_CURRENT)
    holder.stakers[seated.tx_id] = seated

    assert_refused(
        platform.signed(RemoveSubnetValidatorTx),
        holder,
        StakerReason.REMOVING_PERMISSIONLESS,
        "attempting to remove permissionless validator",
    )
