"""Checks of a spend: the signatures of an output's owners, and the flow check."""

import pytest

from primitives.hashing import sha256
from primitives.secp256k1 import sign_sha256
from primitives.uint64 import MAX
from tests.builders.reasons import raises
from tests.builders.utxos import ADDRESSES, COIN, KEYS, NOW, OTHER_COIN, coin, owners
from utxo.components import SignatureCredential, TransferInput
from utxo.errors import CredentialReason, InvalidTx, RefusedCredential, UtxoReason
from utxo.spending import AssetFlow, SignerRecovery, verify_signer_count, verify_transfer

DIGEST = sha256(b"a transaction")
SIGNATURES = tuple(sign_sha256(DIGEST, key) for key in KEYS)
OUTPUT = coin(5, owners(*ADDRESSES, threshold=2, locktime=NOW))


def verify(
    *signatures: bytes, amount: int = 5, indices: tuple[int, ...] = (0, 2), now: int = NOW
) -> None:
    signers, credential = SignerRecovery(DIGEST), SignatureCredential(signatures)
    verify_transfer(signers, TransferInput(amount, indices), credential, OUTPUT, now)


def test_the_named_owners_have_signed() -> None:
    verify(SIGNATURES[0], SIGNATURES[2])


def test_the_amount_is_compared_first() -> None:
    with raises(CredentialReason.AMOUNT_MISMATCH, kind=RefusedCredential) as refused:
        verify(amount=4)

    assert str(refused.value) == "utxo amount and input amount are not equal: 5 != 4"


@pytest.mark.parametrize(
    ("signatures", "changes", "reason"),
    [
        (SIGNATURES[:2], {"now": NOW - 1}, CredentialReason.TIME_LOCKED),
        (SIGNATURES, {"indices": (0, 1, 2)}, CredentialReason.TOO_MANY_SIGNERS),
        (SIGNATURES[:1], {"indices": (0,)}, CredentialReason.TOO_FEW_SIGNERS),
        (SIGNATURES[:1], {}, CredentialReason.SIGNERS_DIFFER_FROM_SIGNATURES),
        (SIGNATURES[:2], {"indices": (0, 3)}, CredentialReason.NONEXISTENT_ADDRESS),
        ((SIGNATURES[0], bytes(65)), {}, CredentialReason.UNRECOVERABLE_SIGNATURE),
        (SIGNATURES[:2], {}, CredentialReason.WRONG_SIGNER),
    ],
)
def test_each_reason_for_a_rejection(signatures, changes, reason) -> None:
    with raises(reason, kind=RefusedCredential):
        verify(*signatures, **changes)


def test_signers_can_be_counted_without_their_signatures() -> None:
    verify_signer_count((0, 9), (bytes(65),) * 2, OUTPUT.owners, NOW)

    with raises(CredentialReason.TOO_FEW_SIGNERS, kind=RefusedCredential):
        verify_signer_count((0,), (bytes(65),), OUTPUT.owners, NOW)
    with raises(CredentialReason.TIME_LOCKED, kind=RefusedCredential):
        verify_signer_count((0, 1), (bytes(65),) * 2, OUTPUT.owners, NOW - 1)


FEE = {COIN: 2}


def test_outputs_and_fee_are_covered_exactly() -> None:
    flow = AssetFlow(FEE)
    flow.consume(COIN, 4)
    flow.consume(COIN, 3)
    flow.produce(COIN, 5)

    flow.verify()
    assert list(flow.shortages()) == []


def test_the_remainder_is_burned() -> None:
    flow = AssetFlow()
    flow.consume(COIN, 4)
    flow.produce(COIN, 1)

    flow.verify()


def test_one_asset_does_not_pay_for_another() -> None:
    flow = AssetFlow(FEE)
    flow.consume(COIN, 9)
    flow.produce(OTHER_COIN, 1)

    with raises(
        UtxoReason.INSUFFICIENT_INPUTS, kind=InvalidTx, match=r"^insufficient funds$"
    ) as refused:
        flow.verify()

    assert (refused.value.values["asset_id"], refused.value.values["missing"]) == (OTHER_COIN, 1)


def test_without_inputs_the_fee_is_missing() -> None:
    flow = AssetFlow(FEE)

    assert list(flow.shortages()) == [(COIN, 2)]


@pytest.mark.parametrize("add", [AssetFlow.consume, AssetFlow.produce])
def test_a_sum_must_fit_into_64_bits(add) -> None:
    flow = AssetFlow()
    add(flow, COIN, MAX)
    flow.verify_sums()
    add(flow, COIN, 1)

    with raises(UtxoReason.SUM_OVERFLOW, kind=InvalidTx, match=r"^overflow$"):
        flow.verify()


def test_the_amounts_of_the_fee_are_not_changed() -> None:
    AssetFlow(FEE).produce(COIN, 5)

    assert FEE == {COIN: 2}
