"""The flow check, error by error, on transactions that only move funds (pchain.md 5.2)."""

import struct
from dataclasses import replace

from platform_app.config import UNIT
from platform_app.executor.errors import TxStateReason
from platform_app.txs.base import BaseTx, LockOut, TxStatus
from platform_app.txs.codec import build
from primitives.hashing import sha256
from primitives.ids import ID
from primitives.secp256k1 import ORDER
from primitives.uint64 import MAX
from tests.builders import platform
from tests.builders.platform_state import assert_refused, env, executed, state
from tests.builders.reasons import raises
from utxo.components import OutputOwners, SignatureCredential, TransferableInput, TransferInput
from utxo.errors import CredentialReason, InvalidTx, UtxoReason

FUNDS = platform.utxo(2 * UNIT)
LATER = platform.NOW + 100
ONE, TWO, THREE = platform.ADDRESSES[:3]
KEY_1, KEY_2, KEY_3 = platform.KEYS[:3]


def with_signature(signature: bytes):
    tx = platform.unsigned(BaseTx)
    return build(tx, (SignatureCredential((signature,)),))


def test_a_transfer_spends_its_inputs_and_makes_its_outputs() -> None:
    second = platform.utxo(UNIT, number=1)
    made = (*platform.outputs(UNIT // 2, UNIT),)
    tx = platform.signed(inputs=platform.spend_all(FUNDS, second), outputs=made)

    diff = executed(tx, state(FUNDS, second))

    assert set(diff.utxos.changes().consumed) == {FUNDS.utxo_id, second.utxo_id}
    assert [(entry.tx_id, entry.output_index) for entry in diff.utxos.changes().produced] == [
        (tx.tx_id, 0),
        (tx.tx_id, 1),
    ]
    assert [other.output for other in diff.utxos.changes().produced] == [
        item.output for item in made
    ]
    assert diff.txs.changes() == ((tx, TxStatus.COMMITTED),)


def test_surplus_input_is_burned() -> None:
    holder = state(FUNDS)
    holder.accept(executed(platform.signed(outputs=()), holder))

    assert holder.unspent() == 0


def test_smaller_of_two_fees_suffices() -> None:
    dynamic = 2 * UNIT - 1_000
    tx = platform.signed(outputs=platform.outputs(dynamic))

    assert executed(tx, state(FUNDS)).utxos.changes().consumed


def test_less_than_the_smaller_fee_is_refused() -> None:
    tx = platform.signed(outputs=platform.outputs(2 * UNIT - 999))

    assert_refused(
        tx,
        state(FUNDS),
        TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
        f"insufficient unlocked funds: needs 1 more {platform.ASSET_ID}",
    )


def test_each_input_needs_a_credential() -> None:
    assert_refused(
        platform.signed(keys=[]),
        state(FUNDS),
        TxStateReason.WRONG_NUMBER_OF_CREDENTIALS,
        "wrong number of credentials: 1 inputs != 0 credentials",
    )


def test_credentials_are_counted_before_outputs_are_read() -> None:
    assert_refused(
        platform.signed(keys=[[KEY_1], [KEY_1]]),
        state(),
        TxStateReason.WRONG_NUMBER_OF_CREDENTIALS,
        "wrong number of credentials: 1 inputs != 2 credentials",
    )


def test_an_output_that_does_not_exist_cannot_be_spent() -> None:
    assert_refused(
        platform.signed(),
        state(),
        TxStateReason.UTXO_MISSING,
        f"failed to read consumed UTXO {FUNDS.tx_id}:0 due to: not found",
    )


def test_an_output_cannot_be_spent_twice() -> None:
    holder = state(FUNDS)
    holder.accept(executed(platform.signed(), holder))

    assert_refused(
        platform.signed(memo=b"again"),
        holder,
        TxStateReason.UTXO_MISSING,
        f"failed to read consumed UTXO {FUNDS.tx_id}:0 due to: not found",
    )


def test_an_input_names_its_output_s_asset() -> None:
    other = replace(FUNDS, asset_id=platform.OTHER_ASSET_ID)

    assert_refused(
        platform.signed(),
        state(other),
        TxStateReason.ASSET_MISMATCH,
        "input asset ID does not match UTXO asset ID: "
        f"{platform.ASSET_ID} != {platform.OTHER_ASSET_ID}",
    )


def test_a_locked_output_needs_a_locked_input() -> None:
    locked = platform.utxo(2 * UNIT, stakeable_until=LATER)
    tx = platform.signed(inputs=(platform.spend(locked, locked=False),))

    assert_refused(
        tx,
        state(locked),
        TxStateReason.LOCKED_FUNDS_NOT_MARKED,
        "locked funds not marked as locked",
    )


def test_a_locked_input_names_the_lock_even_when_it_has_opened() -> None:
    locked = platform.utxo(2 * UNIT, stakeable_until=LATER)
    tx = platform.signed(inputs=(platform.spend(replace(FUNDS, output=LockOut(5, FUNDS.output))),))

    assert_refused(
        tx,
        state(locked, time=LATER + 1),
        TxStateReason.LOCKTIME_MISMATCH,
        f"input locktime does not match UTXO locktime: 5 != {LATER}",
    )


def test_a_locked_input_does_not_spend_an_open_output() -> None:
    tx = platform.signed(inputs=(platform.spend(replace(FUNDS, output=LockOut(5, FUNDS.output))),))

    assert_refused(
        tx,
        state(FUNDS),
        TxStateReason.LOCKTIME_MISMATCH,
        "input locktime does not match UTXO locktime: 5 != 0",
    )


def test_a_lock_that_has_opened_is_spent_either_way() -> None:
    locked = platform.utxo(2 * UNIT, stakeable_until=platform.NOW)
    for as_locked in (True, False):
        tx = platform.signed(inputs=(platform.spend(locked, locked=as_locked),))
        assert executed(tx, state(locked)).utxos.changes().consumed == (locked.utxo_id,)


def test_locked_coins_do_not_become_unlocked() -> None:
    locked = platform.utxo(2 * UNIT, stakeable_until=LATER)
    tx = platform.signed(inputs=platform.spend_all(locked))

    assert_refused(
        tx,
        state(locked),
        TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
        f"insufficient unlocked funds: needs 1001000 more {platform.ASSET_ID}",
    )


def test_unlocked_coins_can_be_locked() -> None:
    tx = platform.signed(outputs=(platform.output(UNIT, stakeable_until=LATER),))

    assert executed(tx, state(FUNDS)).utxos.changes().consumed == (FUNDS.utxo_id,)


def test_locked_funds_do_not_pay_the_fee() -> None:
    tx = platform.signed(outputs=(platform.output(2 * UNIT, stakeable_until=LATER),))

    assert_refused(
        tx,
        state(FUNDS),
        TxStateReason.INSUFFICIENT_UNLOCKED_FUNDS,
        f"insufficient unlocked funds: needs 1000 more {platform.ASSET_ID}",
    )


def test_locked_coins_keep_their_owner() -> None:
    locked = platform.utxo(2 * UNIT, stakeable_until=LATER)
    fee = platform.utxo(UNIT, number=1)
    tx = platform.signed(
        inputs=platform.spend_all(locked, fee),
        outputs=(platform.output(2 * UNIT, TWO, stakeable_until=LATER),),
    )
    owner = ID(sha256(struct.pack(">HQII", 0, 0, 1, 1) + TWO))

    assert_refused(
        tx,
        state(locked, fee),
        TxStateReason.INSUFFICIENT_LOCKED_FUNDS,
        f"insufficient locked funds: {owner} needs {UNIT} more {platform.ASSET_ID} "
        f"for locktime {LATER}",
    )


def test_locked_coins_keep_their_locktime() -> None:
    locked = platform.utxo(2 * UNIT, stakeable_until=LATER)
    fee = platform.utxo(UNIT, number=1)
    tx = platform.signed(
        inputs=platform.spend_all(locked, fee),
        outputs=(platform.output(2 * UNIT, stakeable_until=LATER),),
    )

    assert executed(tx, state(locked, fee)).utxos.changes().consumed


def test_amounts_that_overflow_are_refused() -> None:
    much = [platform.utxo(MAX, number=number) for number in range(2)]
    tx = platform.signed(inputs=platform.spend_all(*much))

    assert_refused(tx, state(*much), UtxoReason.SUM_OVERFLOW, "overflow")


def test_another_asset_moves_without_a_fee_of_its_own() -> None:
    other = platform.utxo(5, number=1, asset_id=platform.OTHER_ASSET_ID)
    made = platform.output(5, asset_id=platform.OTHER_ASSET_ID)
    tx = platform.signed(inputs=platform.spend_all(FUNDS, other), outputs=(made,))

    assert executed(tx, state(FUNDS, other)).utxos.changes().produced[0].output == made.output


def test_an_input_spends_all_of_its_output() -> None:
    assert_refused(
        platform.signed(),
        state(replace(FUNDS, output=platform.transfer_output(3 * UNIT))),
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: utxo amount and input amount are not equal: "
        f"{3 * UNIT} != {2 * UNIT}",
        because=CredentialReason.AMOUNT_MISMATCH,
    )


def test_an_owner_waits_for_its_time_on_the_chain() -> None:
    locked = platform.utxo(2 * UNIT, locktime=LATER)
    tx = platform.signed(inputs=platform.spend_all(locked))

    assert_refused(
        tx,
        state(locked),
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: output is time locked",
        because=CredentialReason.TIME_LOCKED,
        environment=env(now=LATER),
    )
    assert executed(tx, state(locked, time=LATER)).utxos.changes().consumed


def spent_by(indices: tuple[int, ...], owners: OutputOwners, *keys: bytes):
    """Return a transaction that spends an output of these owners, and the state with that output."""
    held = replace(FUNDS, output=replace(FUNDS.output, owners=owners))
    opening = TransferInput(2 * UNIT, indices)
    spent = TransferableInput(FUNDS.tx_id, FUNDS.output_index, FUNDS.asset_id, opening)
    return platform.signed(inputs=(spent,), keys=[keys]), state(held)


def test_two_of_three_owners_can_spend_together() -> None:
    tx, holder = spent_by((0, 2), platform.owners(ONE, TWO, THREE, threshold=2), KEY_1, KEY_3)

    assert executed(tx, holder).utxos.changes().consumed


def test_more_signers_than_wanted_are_refused() -> None:
    tx, holder = spent_by((0, 1), platform.owners(ONE, TWO), KEY_1, KEY_2)

    assert_refused(
        tx,
        holder,
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: input has more signers than expected",
        because=CredentialReason.TOO_MANY_SIGNERS,
    )


def test_fewer_signers_than_wanted_are_refused() -> None:
    tx, holder = spent_by((0,), platform.owners(ONE, TWO, threshold=2), KEY_1)

    assert_refused(
        tx,
        holder,
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: input has less signers than expected",
        because=CredentialReason.TOO_FEW_SIGNERS,
    )


def test_each_signer_signs() -> None:
    tx, holder = spent_by((0, 1), platform.owners(ONE, TWO, threshold=2), KEY_1)

    assert_refused(
        tx,
        holder,
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: input expected a different number of signers than provided "
        "in the credential",
        because=CredentialReason.SIGNERS_DIFFER_FROM_SIGNATURES,
    )


def test_signer_must_be_an_owner() -> None:
    tx, holder = spent_by((1,), platform.owners(ONE), KEY_1)

    assert_refused(
        tx,
        holder,
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: input referenced a nonexistent address in the output",
        because=CredentialReason.NONEXISTENT_ADDRESS,
    )


def test_signature_of_another_address_is_refused() -> None:
    tx, holder = spent_by((0,), platform.owners(ONE), KEY_2)

    assert_refused(
        tx,
        holder,
        TxStateReason.TRANSFER_NOT_VERIFIED,
        f"failed to verify transfer: wrong signature: expected signature from {ONE} "
        f"but got from {TWO}",
        because=CredentialReason.WRONG_SIGNER,
    )


def test_unrecoverable_signature_is_refused() -> None:
    assert_refused(
        with_signature(bytes(65)),
        state(FUNDS),
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: invalid signature",
        because=CredentialReason.UNRECOVERABLE_SIGNATURE,
    )


def test_the_second_form_of_a_signature_is_invalid() -> None:
    good = platform.signed().credentials[0].signatures[0]
    r, s, v = good[:32], int.from_bytes(good[32:64], "big"), good[64]
    mutated = r + (ORDER - s).to_bytes(32, "big") + bytes([v ^ 1])

    assert_refused(
        with_signature(mutated),
        state(FUNDS),
        TxStateReason.TRANSFER_NOT_VERIFIED,
        "failed to verify transfer: signature was mutated from its original format",
        because=CredentialReason.UNRECOVERABLE_SIGNATURE,
    )


def test_a_signature_that_opens_many_outputs_is_recovered_once(monkeypatch) -> None:
    recovered = []
    from utxo import spending

    genuine = spending._recover.__wrapped__

    def counting(digest: bytes, signature: bytes):
        recovered.append(signature)
        return genuine(digest, signature)

    monkeypatch.setattr(spending, "_recover", counting)
    held = [platform.utxo(UNIT, number=number) for number in range(10)]
    tx = platform.signed(inputs=platform.spend_all(*held))

    executed(tx, state(*held))

    assert len(recovered) == 1


def test_a_tx_that_is_changed_after_signing_is_refused() -> None:
    signed, changed = platform.signed(), platform.unsigned(outputs=platform.outputs(UNIT // 2))

    with raises(
        TxStateReason.TRANSFER_NOT_VERIFIED,
        kind=InvalidTx,
        match="wrong signature: expected signature",
    ):
        executed(build(changed, signed.credentials), state(FUNDS))
