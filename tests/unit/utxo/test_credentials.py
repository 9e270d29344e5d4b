"""The spend rule: signatures of an output's owners."""

import pytest

from primitives.hashing import sha256
from primitives.secp256k1 import sign_sha256
from tests.builders.reasons import raises
from tests.builders.utxos import ADDRESSES, KEYS, NOW, coin, owners
from utxo.components import SignatureCredential, TransferInput
from utxo.errors import CredentialReason, RefusedCredential
from utxo.spending import SignerRecovery, verify_signer_count, verify_transfer

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
