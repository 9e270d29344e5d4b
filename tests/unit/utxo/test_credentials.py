"""The spend rule: signatures of an output's owners."""

import pytest

from primitives.hashing import sha256
from primitives.secp256k1 import sign_sha256
from tests.builders.utxos import ADDRESSES, KEYS, NOW, coin, owners
from utxo import errors
from utxo.components import SignatureCredential, TransferInput
from utxo.credentials import SignerRecovery, verify_signer_count, verify_transfer

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
    with pytest.raises(errors.AmountMismatch) as refused:
        verify(amount=4)

    assert str(refused.value) == "utxo amount and input amount are not equal: 5 != 4"


@pytest.mark.parametrize(
    ("signatures", "changes", "error"),
    [
        (SIGNATURES[:2], {"now": NOW - 1}, errors.TimeLocked),
        (SIGNATURES, {"indices": (0, 1, 2)}, errors.TooManySigners),
        (SIGNATURES[:1], {"indices": (0,)}, errors.TooFewSigners),
        (SIGNATURES[:1], {}, errors.SignersDifferFromSignatures),
        (SIGNATURES[:2], {"indices": (0, 3)}, errors.NonexistentAddress),
        ((SIGNATURES[0], bytes(65)), {}, errors.UnrecoverableSignature),
        (SIGNATURES[:2], {}, errors.WrongSigner),
    ],
)
def test_each_reason_for_a_rejection(signatures, changes, error) -> None:
    with pytest.raises(error) as refused:
        verify(*signatures, **changes)

    assert type(refused.value) is error


def test_signers_can_be_counted_without_their_signatures() -> None:
    verify_signer_count((0, 9), (bytes(65),) * 2, OUTPUT.owners, NOW)

    with pytest.raises(errors.TooFewSigners):
        verify_signer_count((0,), (bytes(65),), OUTPUT.owners, NOW)
    with pytest.raises(errors.TimeLocked):
        verify_signer_count((0, 1), (bytes(65),) * 2, OUTPUT.owners, NOW - 1)
