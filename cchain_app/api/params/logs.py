"""Parser of a log filter: addresses, topics and the blocks that it covers.

`filters` decides whether a log matches, and `eth_logs` limits the range of blocks.
"""

from dataclasses import dataclass
from typing import Any, Final

from cchain_app.api.params import values as params
from cchain_app.api.params.values import BlockNumber
from cchain_app.filters import LogFilter
from jsonrpc.errors import InvalidParam
from primitives import hexadecimal
from primitives.evm import Address, Hash, Word
from primitives.hexadecimal import HexError

MAX_TOPICS: Final = 4
MAX_ALTERNATIVES: Final = 1000
"""Maximum number of addresses, or topics for one position."""


@dataclass(frozen=True, slots=True)
class LogCriteria:
    """The filter of logs, and its blocks: one by its hash, or a range; None for an omitted bound."""

    log_filter: LogFilter
    block_hash: Hash | None = None
    first: BlockNumber | None = None
    last: BlockNumber | None = None


def log_criteria(value: Any) -> LogCriteria:
    """Read a filter object.

    Raises:
        InvalidParam: The filter is invalid; the message is geth's for the first error.
    """
    if not isinstance(value, dict):
        raise params.cannot_unmarshal(params.kind_of(value), "filters.input")
    block_hash, first, last = (value.get(name) for name in ("blockHash", "fromBlock", "toBlock"))
    if block_hash is not None and (first is not None or last is not None):
        raise InvalidParam(
            "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other"
        )
    return LogCriteria(
        block_hash=None if block_hash is None else params.hash32(block_hash),
        first=None if first is None else params.block_number(first),
        last=None if last is None else params.block_number(last),
        log_filter=LogFilter(
            addresses=_addresses(value.get("address")), topics=_topics(value.get("topics"))
        ),
    )


def transaction_hashes(value: Any) -> list[Hash]:
    """Read the argument of a subscription to receipts: an object with `transactionHashes`, or null.

    Raises:
        InvalidParam: It is neither.
    """
    if value is None:
        return []
    if not isinstance(value, dict):
        raise params.cannot_unmarshal(params.kind_of(value), "filters.input")
    hashes = value.get("transactionHashes")
    return [] if hashes is None else params.list_of(params.hash32)(hashes)


def _addresses(value: Any) -> frozenset[Address]:
    if value is None:
        return frozenset()
    if isinstance(value, str):
        return frozenset((_address(value, "invalid address"),))
    if not isinstance(value, list):
        raise InvalidParam("invalid addresses in query")
    _check_alternatives(value)
    return frozenset(_listed_address(index, element) for index, element in enumerate(value))


def _listed_address(index: int, value: Any) -> Address:
    if not isinstance(value, str):
        raise InvalidParam(f"non-string address at index {index}")
    return _address(value, f"invalid address at index {index}")


def _address(text: str, trouble: str) -> Address:
    try:
        address = hexadecimal.decode_data(text)
    except HexError as error:
        raise InvalidParam(f"{trouble}: {error}") from None
    if len(address) != 20:
        raise InvalidParam(
            f"{trouble}: hex has invalid length {len(address)} after decoding; "
            "expected 20 for address"
        )
    return Address(address)


def _topics(value: Any) -> tuple[frozenset[Word], ...]:
    if value is None:
        return ()
    if not isinstance(value, list):
        raise params.cannot_unmarshal(params.kind_of(value), "[]interface {}")
    if len(value) > MAX_TOPICS:
        raise InvalidParam("exceed max topics")
    return tuple(_position(element) for element in value)


def _position(value: Any) -> frozenset[Word]:
    """Read the alternatives for one topic position; null, also within a list, matches anything."""
    if value is None:
        return frozenset()
    if not isinstance(value, list):
        return frozenset((_topic(value),))
    _check_alternatives(value)
    alternatives = [_topic(element) for element in value if element is not None]
    return frozenset(alternatives) if len(alternatives) == len(value) else frozenset()


def _topic(value: Any) -> Word:
    if not isinstance(value, str):
        raise InvalidParam("invalid topic(s)")
    try:
        topic = hexadecimal.decode_data(value)
    except HexError as error:
        raise InvalidParam(str(error)) from None
    if len(topic) != 32:
        raise InvalidParam(
            f"hex has invalid length {len(topic)} after decoding; expected 32 for topic"
        )
    return Word(topic)


def _check_alternatives(values: list[Any]) -> None:
    if len(values) > MAX_ALTERNATIVES:
        raise InvalidParam("exceed max addresses or topics per search position")
