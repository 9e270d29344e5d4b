"""Parsers of the arguments of development methods, in all forms that Anvil, Hardhat and Ganache take (devnet.md 1)."""

import re
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from cchain_app.api.params.values import address, kind_of
from jsonrpc.errors import InvalidParam
from primitives.evm import Address, Slot, Word

_DECIMAL: Final = re.compile(r"[0-9]{1,78}")
_HEX: Final = re.compile(r"0[xX][0-9a-fA-F]{0,64}")
_MILLISECONDS: Final = 10**12
"""A time above this number is in milliseconds."""
_MAX_SECONDS: Final = 10**10
_MAX_CODE: Final = 5_000_000


def _amount(value: Any, bits: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise InvalidParam(f"a number was expected, not {kind_of(value)}")
    number = _from_text(value) if isinstance(value, str) else value
    if not 0 <= number < 1 << bits:
        raise InvalidParam(f"{value!s:.90} is not a number of at most {bits} bits")
    return number


def _from_text(text: str) -> int:
    if _HEX.fullmatch(text):
        return int(text[2:] or "0", 16)
    if _DECIMAL.fullmatch(text):
        return int(text)
    raise InvalidParam(f"{text[:80]!r} is not a number")


def amount(value: Any) -> int:
    """Read a number of at most 256 bits: quantity with or without leading zeros, JSON number, decimal text."""
    return _amount(value, 256)


def amount64(value: Any) -> int:
    """Read a number of at most 64 bits, in the same forms."""
    return _amount(value, 64)


def gas(value: Any) -> int:
    """Read an amount of gas: at most 63 bits, which is the limit of the database column."""
    return _amount(value, 63)


def timestamp(value: Any) -> int:
    """Read Unix seconds: at most 62 bits, because the database column holds 63 and later blocks have later times."""
    return _amount(value, 62)


def seconds(value: Any) -> int:
    """Read a number of seconds to add to a time: at most about 300 years, because every later block may add them."""
    amount = _amount(value, 256)
    if amount > _MAX_SECONDS:
        raise InvalidParam(f"{value!s:.90} seconds are more than 300 years")
    return amount


def chain_id(value: Any) -> int:
    """Read a chain ID: at least 1 and at most 63 bits, as in NODE_CHAIN_ID."""
    number = _amount(value, 63)
    if not number:
        raise InvalidParam("0 is not a chain ID")
    return number


def moment(value: Any) -> int:
    """Read Unix seconds; a number above 10^12 is in milliseconds."""
    unix = timestamp(value)
    return unix // 1000 if unix > _MILLISECONDS else unix


def flag(value: Any) -> bool:
    """Read true or false; no other form is accepted."""
    if not isinstance(value, bool):
        raise InvalidParam(f"true or false was expected, not {kind_of(value)}")
    return value


def slot(value: Any) -> Slot:
    """Read a storage slot, in the forms of `amount`."""
    return Slot(amount(value).to_bytes(32, "big"))


def word(value: Any) -> Word:
    """Read the value of a slot: exactly 32 bytes."""
    text = value if isinstance(value, str) else ""
    digits = text[2:] if text[:2] in {"0x", "0X"} else ""
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        data = b""
    if len(data) != 32 or len(digits) != 64:
        raise InvalidParam(
            "Storage value must be exactly 32 bytes long. "
            f"Received {text[:80] or kind_of(value)}, which is {len(data)} bytes long."
        )
    return Word(data)


def code(value: Any) -> bytes:
    """Read code as hexadecimal with an optional prefix."""
    if not isinstance(value, str):
        raise InvalidParam(f"bytes were expected, not {kind_of(value)}")
    digits = value[2:] if value[:2] in {"0x", "0X"} else value
    if len(digits) > 2 * _MAX_CODE:
        raise InvalidParam("code is larger than 5 MB")
    try:
        return bytes.fromhex(digits) if digits.isalnum() or not digits else _no_bytes()
    except ValueError:
        return _no_bytes()


def _no_bytes() -> bytes:
    raise InvalidParam("code is not hexadecimal")


def addresses(value: Any) -> list[Address]:
    """Read an address, or an array of them."""
    if isinstance(value, list):
        return [address(item) for item in value]
    return [address(value)]


class Mining(NamedTuple):
    """The parameters of evm_mine."""

    time: int | None = None
    """Time of the first block, in Unix seconds."""
    blocks: int = 1


def mining(value: Any) -> Mining:
    """Read a time, or an object with `timestamp` and `blocks`."""
    if not isinstance(value, dict):
        return Mining(timestamp(value))
    time, blocks = value.get("timestamp"), value.get("blocks")
    return Mining(
        None if time is None else timestamp(time), 1 if blocks is None else amount64(blocks)
    )


def interval(value: Any) -> float:
    """Read seconds between blocks. A number above 999 is in milliseconds, as in scripts for Hardhat (devnet.md 17)."""
    amount = amount64(value[0] if isinstance(value, list) and value else value)
    return amount / 1000 if amount > 999 else float(amount)


def options(*names: str) -> Callable[[Any], dict[str, Any]]:
    """Return a parser for an object that reads only these members."""

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidParam(f"an object was expected, not {kind_of(value)}")
        return {name: value[name] for name in names if value.get(name) is not None}

    return read


def anything(value: Any) -> Any:
    """Return any value as it is."""
    return value
