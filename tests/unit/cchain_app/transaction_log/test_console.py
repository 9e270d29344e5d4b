"""console.log: every function, both spellings, and data that is not a call of it."""

from itertools import product

import eth_abi
import pytest

from cchain_app.evm.engine import AccountState
from cchain_app.transaction_log.abi import MAX_BYTES
from cchain_app.transaction_log.console import (
    CONSOLE,
    WatchedState,
    format_message,
    message_of,
    messages_of,
)
from primitives.evm import Address
from primitives.hashing import EMPTY_HASH, keccak256
from tests.builders.cchain import MemoryState
from tests.builders.traces import OTHER, frame

ADDRESS = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
SHOWN_ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
SAMPLES = {
    "string": ("text", "text"),
    "uint256": (2**256 - 1, str(2**256 - 1)),
    "int256": (-(2**255), str(-(2**255))),
    "bool": (True, "true"),
    "address": (ADDRESS, SHOWN_ADDRESS),
    "bytes": (b"\x01\xff", "0x01ff"),
}
COMBINED = [
    types
    for count in range(1, 5)
    for types in product(("string", "uint256", "bool", "address"), repeat=count)
]
FIXED = [f"bytes{size}" for size in range(1, 33)]


def called(signature: str, *values: object, types: list[str] | None = None) -> bytes:
    """Return the call data of a function; by default the types are those of its signature."""
    inside = signature.partition("(")[2][:-1]
    types = [part for part in inside.split(",") if part] if types is None else types
    return keccak256(signature.encode())[:4] + eth_abi.encode(types, values)


def old(types: tuple[str, ...]) -> str:
    return f"log({','.join(one.replace('int256', 'int') for one in types)})"


@pytest.mark.parametrize(
    ("signature", "selector"),
    [
        ("log()", "51973ec9"),
        ("log(string)", "41304fac"),
        ("log(uint256)", "f82c50f1"),
        ("log(int256)", "2d5b6cb9"),
        ("log(bool)", "32458eed"),
        ("log(address)", "2c2ecbc2"),
        ("log(string,uint256)", "b60e72cc"),
        ("log(string,string)", "4b5c4277"),
        ("log(bytes32)", "27b7cf85"),
        ("log(string,uint)", "9710a9d0"),
        ("log(uint)", "f5b1bba9"),
        ("log(int)", "4e0c1d1d"),
        ("log(string,bytes)", "23cdd8e8"),
    ],
)
def test_selectors_are_those_of_the_libraries(signature, selector) -> None:
    types = signature[4:-1].replace("uint256", "uint").replace("uint", "uint256").split(",")
    types = ["int256" if item == "int" else item for item in types if item]
    arguments = eth_abi.encode(types, [_zero(kind) for kind in types])

    # print's signature names the types of its bytes, so empty bytes have no types
    expected = None if signature == "log(string,bytes)" else str
    found = message_of(bytes.fromhex(selector) + arguments)
    assert found is None if expected is None else isinstance(found, expected)


def _zero(type_: str) -> object:
    if type_ == "address":
        return "0x" + "00" * 20
    if type_.startswith("bytes"):
        return b""
    return {"string": "", "bool": False}.get(type_, 0)


def test_the_address_is_its_name() -> None:
    assert CONSOLE.hex() == "000000000000000000636f6e736f6c652e6c6f67"


def test_each_combination_of_four_types_is_shown_in_both_spellings() -> None:
    assert len(COMBINED) == 340
    for types in COMBINED:
        values = [SAMPLES[kind][0] for kind in types]
        wanted = " ".join(SAMPLES[item][1] for item in types)
        assert message_of(called(f"log({','.join(types)})", *values)) == wanted, types
        assert message_of(called(old(types), *values, types=list(types))) == wanted, types


@pytest.mark.parametrize("spelling", ["int256", "int"])
def test_signed_integers_are_shown_alone_and_behind_a_text(spelling) -> None:
    value, shown = SAMPLES["int256"]

    assert message_of(called(f"log({spelling})", value, types=["int256"])) == shown
    found = message_of(called(f"log(string,{spelling})", "at", -3, types=["string", "int256"]))
    assert found == "at -3"


def test_bytes_of_any_size_are_shown_in_hex() -> None:
    assert message_of(called("log(bytes)", b"\x01\xff")) == "0x01ff"
    assert message_of(called("log(bytes)", b"")) == "0x"
    for size, type_ in enumerate(FIXED, 1):
        value = bytes(range(size))
        assert message_of(called(f"log({type_})", value)) == "0x" + value.hex()


def test_no_arguments_are_an_empty_line() -> None:
    assert message_of(called("log()")) == ""


def test_a_first_text_has_places() -> None:
    call = called("log(string,uint256,address)", "%d items of %s", 3, ADDRESS)

    assert message_of(call) == f"3 items of {SHOWN_ADDRESS}"


def test_invalid_utf_8_text_is_shown_with_replacements() -> None:
    call = called("log(string)", b"ab\xffc", types=["bytes"])

    assert message_of(call) == "ab\ufffdc"


def test_print_of_vyper_shows_its_values() -> None:
    payload = eth_abi.encode(["uint256", "string", "int128[]"], [7, "seven", [-1, 2]])

    call = called("log(string,bytes)", "(uint256,string,int128[])", payload)
    assert message_of(call) == "7 seven [-1, 2]"


@pytest.mark.parametrize(
    "types",
    ["", "uint256", "()", "(uint7)", "(bytes33)", "(string[])", "((uint256))", "(uint256)(", "(fixed128x18)"],
)  # fmt: skip
def test_types_that_print_cannot_have_show_nothing(types) -> None:
    assert message_of(called("log(string,bytes)", types, bytes(64))) is None


@pytest.mark.parametrize(
    "call",
    [
        b"",
        b"\x41\x30\x4f",
        keccak256(b"log(uint8)")[:4] + bytes(32),
        keccak256(b"log(string)")[:4],
        keccak256(b"log(string)")[:4] + b"\xff" * 32,
        keccak256(b"log(string)")[:4] + (32).to_bytes(32, "big") + b"\xff" * 32,
        keccak256(b"log(bool)")[:4] + (2).to_bytes(32, "big"),
        keccak256(b"log(address)")[:4] + b"\xff" * 32,
        keccak256(b"log(uint256)")[:4] + bytes(31),
    ],
)
def test_other_calldata_shows_no_console_message(call) -> None:
    assert message_of(call) is None


def test_a_text_of_a_hostile_length_shows_nothing() -> None:
    assert message_of(called("log(bytes)", bytes(MAX_BYTES))) is None
    assert message_of(called("log(bytes)", bytes(MAX_BYTES - 96))) is not None


def test_messages_are_in_order_including_failed_frames() -> None:
    one, two = called("log(string)", "one"), called("log(string)", "two")
    frames = (
        frame(),
        frame(1, type="STATICCALL", to=CONSOLE, input=one),
        frame(1, to=OTHER, error="execution reverted"),
        frame(2, type="STATICCALL", to=CONSOLE, input=two),
        frame(1, to=CONSOLE, input=b"\x01"),
    )

    assert list(messages_of(frames)) == ["one", "two"]


def test_a_watched_state_shows_the_same_and_notices_the_console() -> None:
    state = MemoryState()
    state.put(OTHER, code=b"\x00", storage={1: 5})
    watched = WatchedState(state)

    assert watched.account(OTHER) == state.account(OTHER)
    assert watched.storage(OTHER, (1).to_bytes(32, "big")) == (5).to_bytes(32, "big")
    assert not watched.console_was_called
    assert watched.account(CONSOLE) is None
    assert watched.console_was_called


def test_a_watched_state_knows_the_console_with_coins_too() -> None:
    state = MemoryState()
    state.accounts[Address(CONSOLE)] = AccountState(0, 1, EMPTY_HASH)
    watched = WatchedState(state)

    assert watched.account(bytes(CONSOLE)) == AccountState(0, 1, EMPTY_HASH)
    assert watched.console_was_called


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((), ""),
        (("%d of %s", 3), "3 of %s"),
        (("%s and %d", 2**256 - 1, -(2**255)), f"{2**256 - 1} and {-(2**255)}"),
        (("%i", 2**200), str(2**200)),
        (("%j %o", 2**200, 2**70), f"{2**200} {2**70}"),
        (("%x %x %x", 255, -255, "0xAb"), "0xff -0xff 0xAb"),
        (("%x", True), "true"),
        ((2**90, True, "text"), f"{2**90} true text"),
        (((1, "two", (False,)), "x"), "[1, two, [false]] x"),
    ],
)
def test_integers_keep_all_their_digits(values, text) -> None:
    assert format_message(values) == text
