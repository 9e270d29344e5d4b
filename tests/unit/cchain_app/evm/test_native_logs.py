"""Logs of receipts: the crate encodes them as Python does, whatever is in them and however many there are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.blocks import receipt
from cchain_app.evm.engine import Log
from primitives.evm import Address, Word

native = pytest.importorskip("cchain_app.evm.native")

MANY = 2_000
"""From so many on the crate lets go of the interpreter lock."""

words = st.sampled_from([bytes([one]) * 32 for one in range(4)]) | st.binary(
    min_size=32, max_size=32
)
logs = st.builds(
    Log,
    address=st.binary(min_size=20, max_size=20).map(Address),
    topics=st.lists(words.map(Word), max_size=4).map(tuple),
    data=st.binary(max_size=70) | st.integers(0, 70_000).map(bytes),
)


@given(st.lists(logs, max_size=6).map(tuple))
def test_the_crate_encodes_logs_as_python_does(drawn: tuple[Log, ...]) -> None:
    assert native.encode_logs(drawn) == receipt.encode_logs(drawn)


@given(st.integers(MANY - 1, MANY + 1), st.lists(logs, min_size=1, max_size=6).map(tuple))
def test_many_logs_are_encoded_as_few_are(count: int, drawn: tuple[Log, ...]) -> None:
    many = (drawn * count)[:count]
    assert native.encode_logs(many) == receipt.encode_logs(many)


@pytest.mark.parametrize(
    "log",
    [
        (),
        (b"", (), None),
        (b"", (b"",) * 5, b""),
        (b"", [], b""),
        (b"", (7,), b""),
        (b"", (None,), b""),
        (b"", (b"", None), b""),
        7,
    ],
)
def test_what_is_no_log_is_refused(log: Log) -> None:
    with pytest.raises((TypeError, ValueError)):
        native.encode_logs((log,))


def test_the_chains_encoding_goes_with_its_engine() -> None:
    assert receipt.select_encode_logs(native=True) is native.encode_logs
    assert receipt.select_encode_logs(native=False) is receipt.encode_logs
