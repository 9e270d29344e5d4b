"""The crate's recovery of senders in batches and its Keccak-256, compared to other libraries."""

import cchain_native
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.evm.native import recover_senders
from cchain_app.txs.signing import signing_digest
from primitives.evm import Hash
from primitives.hashing import keccak256
from tests.builders.cchain import JUNK_KEYS, SENDERS
from tests.builders.transactions import signed, unsigned

ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141


def signatures(count: int) -> list[tuple[Hash, int, int, int]]:
    found = []
    for number in range(count):
        one = signed(key=JUNK_KEYS[number % 5], nonce=number)
        found.append((signing_digest(unsigned(nonce=number)), one.r, one.s, one.y_parity))
    return found


@pytest.mark.parametrize("count", [0, 1, 8, 9, 16, 17, 50])
def test_senders_are_in_the_order_of_the_signatures(count: int) -> None:
    expected = [SENDERS[number % 5] for number in range(count)]
    assert recover_senders(signatures(count)) == expected


def test_invalid_signature_has_no_sender() -> None:
    ((digest, r, s, parity),) = signatures(1)
    assert recover_senders(
        [
            (digest, 0, s, parity),
            (digest, r, 0, parity),
            (digest, ORDER, s, parity),
            (digest, r, ORDER, parity),
            (digest, r, s, 4),
            (digest, r, s, parity),
        ]
    ) == [None, None, None, None, None, SENDERS[0]]


def test_numbers_beyond_256_bits_are_refused() -> None:
    ((digest, _, s, parity),) = signatures(1)
    with pytest.raises(OverflowError):
        recover_senders([(digest, 2**256, s, parity)])


@given(st.binary(max_size=300))
def test_keccak_equals_the_python_implementation(data: bytes) -> None:
    assert cchain_native.keccak256(data) == keccak256(data)
