"""The reason of a failure, and the frame in which it happened."""

import eth_abi
import pytest

from cchain_app.evm.failures import OUT_OF_GAS, REVERTED
from cchain_app.transaction_log.declarations import KnownSignatures
from cchain_app.transaction_log.reasons import FailureText, failure_of
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.builders.traces import CALLEE, CALLER, OTHER, frame

KNOWN = KnownSignatures.load()


def error(signature: str, *values: object) -> bytes:
    inside = signature.partition("(")[2][:-1]
    return keccak256(signature.encode())[:4] + eth_abi.encode(
        [part for part in inside.split(",") if part], values
    )


def reverted(depth: int = 0, output: bytes = b"", **changes: object):
    return frame(depth, error=REVERTED, output=output, **changes)


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (error("Error(string)", "not today"), "reverted with reason string 'not today'"),
        (error("Error(string)", ""), "reverted with reason string ''"),
        (
            error("Panic(uint256)", 0x11),
            "reverted with panic code 0x11 (arithmetic underflow or overflow)",
        ),
        (
            error("Panic(uint256)", 0x99),
            "reverted with panic code 0x99 (unknown panic code: 0x99)",
        ),
        (
            error("ERC20InsufficientBalance(address,uint256,uint256)", "0x" + CALLER.hex(), 1, 2),
            f"reverted with custom error ERC20InsufficientBalance({checksum_address(CALLER)}, 1, 2)",
        ),
        (error("Unauthorized()"), "reverted with custom error Unauthorized()"),
        (bytes.fromhex("2bbdbc26"), "reverted with custom error 0x2bbdbc26"),
        (
            bytes.fromhex("2bbdbc2600ff"),
            "reverted with custom error 0x2bbdbc26 with data 0x00ff",
        ),
        (b"", "reverted without a reason"),
        (b"\x01\x02", "reverted with data 0x0102"),
    ],
)
def test_revert_data_is_described(output, reason) -> None:
    assert failure_of([reverted(output=output)], KNOWN) == FailureText(reason)


def test_error_with_malformed_arguments_is_shown_as_selector() -> None:
    output = error("OwnableInvalidOwner(address)", "0x" + CALLER.hex())[:20]

    found = failure_of([reverted(output=output)], KNOWN)
    assert found is not None
    assert found.reason.startswith("reverted with custom error 0x1e4fbdf7 with data 0x0000")


def test_long_data_of_an_unknown_error_is_cut() -> None:
    found = failure_of([reverted(output=b"\x01\x02\x03\x04" + b"\xaa" * 5000)], KNOWN)

    assert found == FailureText(f"reverted with custom error 0x01020304 with data 0x{'aa' * 256}…")


def test_successful_transaction_has_no_failure() -> None:
    assert failure_of([frame(), reverted(1)], KNOWN) is None
    assert failure_of([], KNOWN) is None


def test_other_failures_have_geths_messages() -> None:
    assert failure_of([frame(error=OUT_OF_GAS, output=b"")], KNOWN) == FailureText(OUT_OF_GAS)


def test_the_frame_is_named_that_failed_first() -> None:
    said = error("Error(string)", "deep")
    frames = [
        reverted(output=said),
        frame(1),
        reverted(1, said, to=OTHER),
        reverted(2, b"", to=CALLER),
        reverted(2, said, to=CALLEE, type="STATICCALL", input=keccak256(b"totalSupply()")[:4]),
        frame(3),
    ]

    assert failure_of(frames, KNOWN) == FailureText(
        "reverted with reason string 'deep'",
        f"STATICCALL {checksum_address(CALLEE)} totalSupply()",
    )


def test_out_of_gas_call_is_named_if_its_caller_reverts() -> None:
    frames = [reverted(), frame(1, error=OUT_OF_GAS, output=b"", input=b"\x01\x02\x03\x04")]

    assert failure_of(frames, KNOWN) == FailureText(
        OUT_OF_GAS, f"CALL {checksum_address(CALLEE)} 0x01020304"
    )


def test_a_failure_that_was_caught_is_not_that_of_the_caller() -> None:
    frames = [reverted(output=error("Unauthorized()")), reverted(1, error("Expired()"))]

    assert failure_of(frames, KNOWN) == FailureText("reverted with custom error Unauthorized()")


def test_a_creation_is_named_without_a_method() -> None:
    frames = [reverted(), reverted(1, type="CREATE2", to=OTHER), frame(2)]

    assert failure_of(frames, KNOWN) == FailureText(
        "reverted without a reason", f"CREATE2 {checksum_address(OTHER)}"
    )


@pytest.mark.parametrize(
    ("call", "method"),
    [
        (keccak256(b"transfer(address,uint256)")[:4] + bytes(64), "transfer(address,uint256)"),
        (b"\x01\x02\x03\x04\x05", "0x01020304"),
        (b"\x01\x02\x03", None),
        (b"", None),
    ],
)
def test_methods_are_named_where_they_are_known(call, method) -> None:
    assert KNOWN.method(call) == method
