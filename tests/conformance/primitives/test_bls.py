"""BLS: both libraries agree on valid and invalid input; the slow one is used if the other is missing."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import primitives
from primitives import bls, bls_native, bls_py_ecc
from primitives.bls import Library, Suite
from tests.builders.reasons import raises
from tests.searching import cases

SECRET = b"AvalancheLocalNetworkValidator01"
OTHER_SECRET = b"AvalancheLocalNetworkValidator02"
MESSAGE = b"what is signed"
IDENTITY_KEY = b"\xc0" + bytes(47)
IDENTITY_SIGNATURE = b"\xc0" + bytes(95)
# x = 4 is on the curve, but the point is not in the subgroup.
OUTSIDE_SUBGROUP = b"\x80" + bytes(46) + b"\x04"

libraries = pytest.mark.parametrize(
    "library", [bls_native, bls_py_ecc], ids=lambda library: library.__name__
)
suites = pytest.mark.parametrize("suite", Suite)


@suites
def test_both_libraries_sign_equally_and_verify(suite: Suite) -> None:
    key = bls_native.public_key(SECRET)
    signature = bls_native.sign(SECRET, MESSAGE, suite.value)

    assert bls_py_ecc.public_key(SECRET) == key
    assert bls_py_ecc.sign(SECRET, MESSAGE, suite.value) == signature
    assert bls_native.verify(key, MESSAGE, signature, suite.value)
    assert bls_py_ecc.verify(key, MESSAGE, signature, suite.value)


@libraries
@suites
def test_signature_is_valid_only_for_its_message_key_and_suite(
    library: Library, suite: Suite
) -> None:
    (other_suite,) = set(Suite) - {suite}
    key = bls.public_key(SECRET)
    signature = bls.sign(SECRET, MESSAGE, suite)

    assert not library.verify(key, MESSAGE + b"!", signature, suite.value)
    assert not library.verify(bls.public_key(OTHER_SECRET), MESSAGE, signature, suite.value)
    assert not library.verify(key, MESSAGE, signature, other_suite.value)


@libraries
@suites
@pytest.mark.parametrize("message", [MESSAGE, IDENTITY_KEY], ids=["message", "key"])
def test_identity_point_is_neither_key_nor_signature(
    library: Library, suite: Suite, message: bytes
) -> None:
    assert not library.verify(IDENTITY_KEY, message, IDENTITY_SIGNATURE, suite.value)
    assert not library.verify(bls.public_key(SECRET), message, IDENTITY_SIGNATURE, suite.value)


@libraries
@pytest.mark.parametrize(
    "key",
    [
        bytes(48),
        b"\xff" * 48,
        OUTSIDE_SUBGROUP,
        b"\x80" + b"\xff" * 47,
        b"\xc0" + bytes(46) + b"\x01",
        b"\xe0" + bytes(47),
    ],
    ids=lambda key: key.hex()[:4] + key.hex()[-2:],
)
def test_invalid_point_is_not_a_key(library: Library, key: bytes) -> None:
    signature = bls.sign(SECRET, MESSAGE)
    assert not library.verify(key, MESSAGE, signature, Suite.MESSAGE.value)


@libraries
@pytest.mark.parametrize(
    "change",
    [
        lambda signature: bytes(96),
        lambda signature: bytes([signature[0] & 0x7F]) + signature[1:],
        lambda signature: bytes([signature[0] ^ 0x20]) + signature[1:],
        lambda signature: signature[:-1] + bytes([signature[-1] ^ 1]),
    ],
    ids=["zeros", "uncompressed", "other half", "last bit"],
)
def test_changed_signature_does_not_verify(library: Library, change: object) -> None:
    assert callable(change)
    signature = change(bls.sign(SECRET, MESSAGE))
    assert not library.verify(bls.public_key(SECRET), MESSAGE, signature, Suite.MESSAGE.value)


@settings(max_examples=cases(30), deadline=None)
@given(st.binary(min_size=48, max_size=48), st.binary(min_size=96, max_size=96))
def test_both_libraries_refuse_any_bytes(key: bytes, signature: bytes) -> None:
    for suite in Suite:
        assert not bls_native.verify(key, MESSAGE, signature, suite.value)
        assert not bls_py_ecc.verify(key, MESSAGE, signature, suite.value)


@settings(max_examples=cases(3), deadline=None)
@given(
    st.integers(1, bls.ORDER - 1).map(lambda number: number.to_bytes(32, "big")),
    st.binary(max_size=100),
    st.sampled_from(Suite),
    st.integers(0, 48 * 8 - 1),
    st.integers(0, 96 * 8 - 1),
)
def test_both_libraries_agree_on_signatures_changed_by_one_bit(
    secret: bytes, message: bytes, suite: Suite, key_bit: int, signature_bit: int
) -> None:
    key = bls_native.public_key(secret)
    signature = bls_native.sign(secret, message, suite.value)
    other_key, other_signature = _flipped(key, key_bit), _flipped(signature, signature_bit)

    assert bls_py_ecc.public_key(secret) == key
    assert bls_py_ecc.sign(secret, message, suite.value) == signature
    for library in (bls_native, bls_py_ecc):
        assert library.verify(key, message, signature, suite.value)
        assert not library.verify(other_key, message, signature, suite.value)
        assert not library.verify(key, message, other_signature, suite.value)
    assert bls_native.is_signature(other_signature) == bls_py_ecc.is_signature(other_signature)


def _flipped(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


@libraries
def test_the_sum_of_keys_verifies_the_sum_of_their_signatures(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bls, "_library", library)
    keys = [bls_native.public_key(secret) for secret in (SECRET, OTHER_SECRET, SECRET)]
    signatures = [
        bls_native.sign(secret, MESSAGE, Suite.MESSAGE.value)
        for secret in (SECRET, OTHER_SECRET, SECRET)
    ]
    secrets = 2 * int.from_bytes(SECRET, "big") + int.from_bytes(OTHER_SECRET, "big")
    total = (secrets % bls.ORDER).to_bytes(32, "big")

    assert bls.aggregate_public_keys(keys) == bls_native.public_key(total)
    assert bls.aggregate_signatures(signatures) == bls_native.sign(
        total, MESSAGE, Suite.MESSAGE.value
    )
    assert bls.aggregate_public_keys(keys[:1]) == keys[0]
    assert bls.aggregate_signatures([IDENTITY_SIGNATURE, signatures[0]]) == signatures[0]


@libraries
def test_keys_and_signatures_may_cancel_out(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bls, "_library", library)
    negative = (bls.ORDER - int.from_bytes(SECRET, "big")).to_bytes(32, "big")
    key = bls.aggregate_public_keys([bls.public_key(SECRET), bls.public_key(negative)])
    signature = bls.aggregate_signatures([bls.sign(SECRET, MESSAGE), bls.sign(negative, MESSAGE)])

    assert key == IDENTITY_KEY
    assert signature == IDENTITY_SIGNATURE
    assert not bls.verify(key, MESSAGE, signature)


@libraries
@pytest.mark.parametrize(
    "key", [b"", bytes(48), IDENTITY_KEY, OUTSIDE_SUBGROUP, b"\xff" * 48, IDENTITY_KEY + b"\0"]
)
def test_invalid_key_is_not_aggregated(
    library: Library, key: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bls, "_library", library)
    with raises(
        bls.BlsReason.INVALID_PUBLIC_KEY, kind=bls.BlsError, match=r"^invalid BLS public key$"
    ):
        bls.aggregate_public_keys([bls_native.public_key(SECRET), key])


@libraries
@pytest.mark.parametrize(
    "signature", [b"", bytes(96), b"\x80" + bytes(94) + b"\x02", b"\xff" * 96, bytes(97)]
)
def test_invalid_signature_is_not_aggregated(
    library: Library, signature: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bls, "_library", library)
    with raises(
        bls.BlsReason.MALFORMED_SIGNATURE, kind=bls.BlsError, match=r"^invalid BLS signature$"
    ):
        bls.aggregate_signatures([IDENTITY_SIGNATURE, signature])


def test_aggregation_of_no_signatures_is_refused() -> None:
    with raises(bls.BlsReason.NOTHING_TO_AGGREGATE, kind=bls.BlsError, match=r"^no public keys$"):
        bls.aggregate_public_keys([])
    with raises(bls.BlsReason.NOTHING_TO_AGGREGATE, kind=bls.BlsError, match=r"^no signatures$"):
        bls.aggregate_signatures([])


def test_native_library_refuses_invalid_secret_without_repeating_it() -> None:
    secret = b"\xff" * 32
    with pytest.raises(ValueError, match=r"^invalid BLS secret key$"):
        bls_native.sign(secret, MESSAGE, Suite.MESSAGE.value)


def test_a_forked_process_continues_verifying() -> None:
    # A thread pool created before the fork would have no threads in the child, which would hang.
    program = (
        "import os, signal; from primitives import bls\n"
        "key, signature = bls.public_key(b'1' * 32), bls.sign(b'1' * 32, b'')\n"
        "assert bls.verify(key, b'', signature)\n"
        "if (child := os.fork()) == 0: signal.alarm(30); os._exit(not bls.verify(key, b'', signature))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    )
    assert result.stdout == "0\n"


@libraries
def test_a_signature_has_an_encoding_that_is_known_without_its_key(library: Library) -> None:
    for suite in Suite:
        assert library.is_signature(bls.sign(SECRET, MESSAGE, suite))
    assert library.is_signature(IDENTITY_SIGNATURE)


@libraries
@pytest.mark.parametrize(
    "signature",
    [
        bytes(96),
        b"\x80" + bytes(95),
        b"\xff" * 96,
        b"\xe0" + bytes(95),
        # x = 2 is on the curve, but the point is not in the subgroup.
        b"\x80" + bytes(94) + b"\x02",
    ],
    ids=["zeros", "off the curve", "above the field", "other identity", "outside the subgroup"],
)
def test_invalid_point_is_not_a_signature(library: Library, signature: bytes) -> None:
    assert not library.is_signature(signature)


@pytest.mark.parametrize("size", [0, 48, 95, 97])
def test_signature_of_wrong_length_is_refused(size: int) -> None:
    assert not bls.is_signature(IDENTITY_SIGNATURE.ljust(97, b"\0")[:size])
    assert bls.is_signature(IDENTITY_SIGNATURE)


@pytest.mark.parametrize(("key_size", "signature_size"), [(47, 96), (49, 96), (48, 95), (48, 97)])
def test_key_or_signature_of_wrong_length_does_not_verify(
    key_size: int, signature_size: int
) -> None:
    assert not bls.verify(bytes(key_size), MESSAGE, bytes(signature_size))


def test_proof_of_possession_is_valid_for_its_key_only() -> None:
    key, proof = bls.public_key(SECRET), bls.prove_possession(SECRET)
    assert bls.verify_possession(key, proof)
    assert bls.verify(key, key, proof, Suite.POSSESSION)
    assert not bls.verify_possession(bls.public_key(OTHER_SECRET), proof)


@pytest.mark.parametrize(
    "secret",
    [b"", bytes(32), bls.ORDER.to_bytes(32, "big"), b"\xff" * 32, b"\x01" * 31, b"\x01" * 33],
    ids=["none", "zero", "order", "large", "short", "long"],
)
def test_invalid_secret_key_is_refused(secret: bytes) -> None:
    message = r"^invalid BLS secret key$"
    with pytest.raises(bls.InvalidSecretKey, match=message):
        bls.public_key(secret)
    with pytest.raises(bls.InvalidSecretKey, match=message):
        bls.sign(secret, MESSAGE)
    with pytest.raises(bls.InvalidSecretKey, match=message):
        bls.prove_possession(secret)


@pytest.mark.parametrize("number", [1, bls.ORDER - 1])
def test_the_first_and_last_secret_keys_are_keys(number: int) -> None:
    secret = number.to_bytes(32, "big")
    assert bls_native.public_key(secret) == bls_py_ecc.public_key(secret)
    for suite in Suite:
        assert bls.verify(bls.public_key(secret), MESSAGE, bls.sign(secret, MESSAGE, suite), suite)


def test_the_native_library_is_taken_where_it_is_built() -> None:
    assert bls.load_library() is bls_native


def test_slow_library_is_used_without_the_native_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cchain_native", None)
    monkeypatch.delitem(sys.modules, "primitives.bls_native")
    monkeypatch.delattr(primitives, "bls_native")
    assert bls.load_library() is bls_py_ecc


def test_the_recursion_limit_survives_the_slow_library() -> None:
    # in a separate process, because only the first import of py_ecc changes the limit
    program = (
        "import sys; before = sys.getrecursionlimit(); import primitives.bls_py_ecc;"
        "assert 'py_ecc' in sys.modules; print(sys.getrecursionlimit() == before)"
    )
    result = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert result.stdout == "True\n"
