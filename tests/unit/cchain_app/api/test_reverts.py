"""The errors that callers get for failed calls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.api.errors import failure
from cchain_app.evm.engine import CallResult
from cchain_app.evm.failures import reason_of


def abi_text(text: str) -> bytes:
    data = text.encode()
    padded = data.ljust(-(-len(data) // 32) * 32, b"\0")
    return (
        bytes.fromhex("08c379a0")
        + (32).to_bytes(32, "big")
        + len(data).to_bytes(32, "big")
        + padded
    )


def panic(code: int) -> bytes:
    return bytes.fromhex("4e487b71") + code.to_bytes(32, "big")


def result(error: str | None, output: bytes = b"") -> CallResult:
    return CallResult(output=output, gas_used=21_000, gas_peak=21_000, error=error)


def test_successful_call_has_no_failure():
    assert failure(result(None, b"\x01")) is None


def test_a_revert_with_a_text_has_code_3_and_its_data():
    error = failure(result("execution reverted", abi_text("not yours")))
    assert (error.code, error.message) == (3, "execution reverted: not yours")
    assert error.data == "0x" + abi_text("not yours").hex()


def test_a_revert_without_data_still_has_data():
    error = failure(result("execution reverted"))
    assert (error.code, error.message, error.data) == (3, "execution reverted", "0x")


def test_a_custom_error_has_no_reason_and_its_data():
    error = failure(result("execution reverted", b"\xde\xad\xbe\xef" + bytes(32)))
    assert error.message == "execution reverted"
    assert error.data == "0xdeadbeef" + "00" * 32


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (0x00, "generic panic"),
        (0x01, "assert(false)"),
        (0x11, "arithmetic underflow or overflow"),
        (0x12, "division or modulo by zero"),
        (0x21, "enum overflow"),
        (0x22, "invalid encoded storage byte array accessed"),
        (0x31, "out-of-bounds array access; popping on an empty array"),
        (0x32, "out-of-bounds access of an array or bytesN"),
        (0x41, "out of memory"),
        (0x51, "uninitialized function"),
        (0x99, "unknown panic code: 0x99"),
    ],
)
def test_a_panic_has_its_text(code, text):
    error = failure(result("execution reverted", panic(code)))
    assert error.message == f"execution reverted: {text}"


def test_any_other_failure_has_code_32000_and_no_data():
    error = failure(result("out of gas", b"\x01"))
    assert (error.code, error.message) == (-32000, "out of gas")
    assert repr(error.data) == "NO_DATA"


@given(st.text(max_size=200))
def test_revert_reason_round_trips(text):
    assert reason_of(abi_text(text)) == text


@given(st.binary(max_size=200))
def test_no_revert_data_is_too_strange(data):
    for selector in ("08c379a0", "4e487b71"):
        reason = reason_of(bytes.fromhex(selector) + data)
        assert reason is None or isinstance(reason, str)


@pytest.mark.parametrize(
    "arguments",
    [
        b"",
        (32).to_bytes(32, "big"),
        (1000).to_bytes(32, "big") + bytes(32),
        (32).to_bytes(32, "big") + (33).to_bytes(32, "big") + bytes(32),
        b"\xff" * 64,
    ],
)
def test_an_error_without_a_readable_text_has_no_reason(arguments):
    data = bytes.fromhex("08c379a0") + arguments
    error = failure(result("execution reverted", data))
    assert (error.message, error.data) == ("execution reverted", "0x" + data.hex())
