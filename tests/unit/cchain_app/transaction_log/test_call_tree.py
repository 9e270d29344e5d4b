"""The tree of a transaction's calls, and the names and arguments in it."""

from typing import Any

import eth_abi
import pytest

from cchain_app.evm.engine import Log
from cchain_app.evm.failures import OUT_OF_GAS, REVERTED
from cchain_app.evm.tracing import Frame, FrameLog
from cchain_app.transaction_log.call_tree import MAX_LINES, call_tree
from cchain_app.transaction_log.declarations import Declaration, KnownSignatures
from primitives.evm import Word
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.builders.traces import CALLEE, CALLER, OTHER, PRECOMPILE, frame, selfdestruct

KNOWN = KnownSignatures.load()
A, B, C = map(checksum_address, (CALLER, CALLEE, OTHER))
TRANSFER = keccak256(b"Transfer(address,address,uint256)")


def encoded(signature: str, *values: object) -> bytes:
    inside = signature.partition("(")[2][:-1]
    types = [part for part in inside.split(",") if part]
    return keccak256(signature.encode())[:4] + eth_abi.encode(types, values)


def padded(data: bytes) -> Word:
    return Word(data.rjust(32, b"\0"))


def log(position: int, topics: tuple[bytes, ...], data: bytes = b"", at: Any = CALLEE) -> FrameLog:
    return FrameLog(Log(at, tuple(map(Word, topics)), data), 0, position)


def transfer(position: int, value: int) -> FrameLog:
    topics = (TRANSFER, padded(CALLER), padded(OTHER))
    return log(position, topics, value.to_bytes(32, "big"))


def tree(*frames: Frame, known: KnownSignatures = KNOWN) -> list[str]:
    return list(call_tree(frames, known))


def test_calls_logs_and_results_are_in_their_order() -> None:
    call = encoded("transfer(address,uint256)", "0x" + OTHER.hex(), 5)
    top = frame(
        input=call, gas_used=900, output=(1).to_bytes(32, "big"), logs=(transfer(0, 5), transfer(1, 6), transfer(2, 7))
    )  # fmt: skip
    inner = frame(
        1, type="STATICCALL", to=OTHER, gas_used=70, value=None, output=b"",
        input=encoded("balanceOf(address)", "0x" + CALLER.hex()),
    )  # fmt: skip
    deeper = frame(2, type="DELEGATECALL", to=CALLER, value=9, input=b"", gas_used=6, output=b"")
    last = frame(1, value=3, to=OTHER, input=b"", gas_used=1, output=b"\x07")

    assert tree(top, inner, deeper, last) == [
        f"[900] {B}::transfer({C}, 5)",
        f"  ├─ emit Transfer(from: {A}, to: {C}, value: 5)",
        f"  ├─ [70] {C}::balanceOf({A}) [staticcall]",
        f"  │   ├─ [6] {A}::fallback() [delegatecall]",
        "  │   │   └─ ← [Stop]",
        "  │   └─ ← [Stop]",
        f"  ├─ emit Transfer(from: {A}, to: {C}, value: 6)",
        f"  ├─ [1] {C}::fallback{{value: 3}}()",
        "  │   └─ ← [Return] 0x07",
        f"  ├─ emit Transfer(from: {A}, to: {C}, value: 7)",
        "  └─ ← [Return] 0x" + "1".rjust(64, "0"),
    ]


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            {"type": "CREATE2", "to": OTHER, "output": b"\x01\x02", "value": 4},
            [f"[700] → new {C}{{value: 4}}", "  └─ ← [Return] 2 bytes of code"],
        ),
        (
            {"type": "CREATE", "to": None, "error": "insufficient balance for transfer"},
            [
                "[700] → new an unknown address",
                "  └─ ← [Failed] insufficient balance for transfer",
            ],
        ),
        (
            {"to": PRECOMPILE, "precompile": True, "input": b"\xab" * 300},
            [
                f"[700] {checksum_address(PRECOMPILE)}(0x{'ab' * 256}…)",
                "  └─ ← [Return] 0x03",
            ],
        ),
        (
            {"input": bytes.fromhex("1234567890"), "error": OUT_OF_GAS, "output": b""},
            [f"[700] {B}::0x12345678(0x90)", "  └─ ← [Failed] out of gas"],
        ),
        (
            {"error": REVERTED, "output": encoded("Error(string)", "no\nmore"), "input": b""},
            [f"[700] {B}::fallback()", "  └─ ← [Revert] reason string 'no\nmore'"],
        ),
        (
            {"error": REVERTED, "output": b"", "input": b""},
            [f"[700] {B}::fallback()", "  └─ ← [Revert] without a reason"],
        ),
    ],
)
def test_each_kind_of_frame_has_its_lines(changes: dict[str, Any], lines: list[str]) -> None:
    assert tree(frame(**changes)) == lines


def test_a_selfdestruct_has_a_line_of_its_own() -> None:
    assert tree(frame(input=b"", output=b""), selfdestruct(1)) == [
        f"[700] {B}::fallback()", f"  ├─ selfdestruct to {C}{{value: 12}}", "  └─ ← [Stop]",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("topics", "data", "text"),
    [
        ((), b"\x01", "data: 0x01"),
        ((b"\x05" * 32,), b"", f"topic 0: 0x{'05' * 32}, data: 0x"),
        # the same topic with a third indexed parameter
        ((TRANSFER, padded(CALLER), padded(OTHER), padded(b"\x07")), b"", f"Transfer(from: {A}, to: {C}, tokenId: 7)"),
        # no uint256
        ((TRANSFER, padded(CALLER), padded(OTHER)), b"\x01", f"topic 0: 0x{TRANSFER.hex()}, topic 1: "),
        # no address
        ((TRANSFER, b"\xff" * 32, padded(OTHER)), bytes(32), f"topic 0: 0x{TRANSFER.hex()}, topic 1: 0xffff"),
    ],
)  # fmt: skip
def test_events_have_names_if_they_are_known(
    topics: tuple[bytes, ...], data: bytes, text: str
) -> None:
    assert KNOWN.event(topics, data).startswith(text)


def test_declared_functions_are_shown_with_values() -> None:
    function = Declaration.parse("pay((address to,uint256[] amounts)[] parts, string why)")
    event = Declaration.parse(
        "Paid(string indexed why, (uint8,bool) indexed of, bytes data, (uint8 a,bool b) pair)"
    )
    declared = KnownSignatures([function], [], [event])
    known = KnownSignatures([], [], [], lambda contract: declared if contract == CALLEE else None)
    data = function.selector + eth_abi.encode(
        function.types, [[("0x" + OTHER.hex(), [1, 2])], "because"]
    )
    logged = eth_abi.encode(["bytes", "(uint8,bool)"], [b"\x01", (3, True)])
    topics = (event.topic, b"\x11" * 32, b"\x22" * 32)

    called = frame(input=data, output=b"", logs=(log(0, topics, logged),))
    assert tree(called, known=known) == [
        f"[700] {B}::pay([[{C}, [1, 2]]], because)",
        f"  ├─ emit Paid(why: 0x{'11' * 32}, of: 0x{'22' * 32}, data: 0x01, pair: [3, true])",
        "  └─ ← [Stop]",
    ]

    error = Declaration.parse("Broke((address who,uint256 debt) loan, uint8[2] pair)")
    raised = error.selector + eth_abi.encode(error.types, [("0x" + OTHER.hex(), 12), [1, 2]])
    assert KnownSignatures([], [error]).error(raised) == f"Broke([{C}, 12], [1, 2])"
    elsewhere = tree(frame(to=OTHER, input=data, output=b""), known=known)
    assert elsewhere[0].startswith(f"[700] {C}::0x{function.selector.hex()}(0x")


def test_a_tree_is_bounded_in_lines_and_in_their_length() -> None:
    deep = [frame(depth, input=b"", output=b"") for depth in range(1025)]
    lines = tree(*deep)
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == f"… (more than {MAX_LINES} lines)"
    many = tree(*(frame(min(index, 1), input=b"") for index in range(MAX_LINES // 2)))
    assert len(many) == MAX_LINES

    text = encoded("setName(string)", "x" * 3500)
    (head, _) = tree(frame(input=text))
    assert len(head) <= 2001


def test_no_frames_give_no_tree() -> None:
    assert tree() == []
