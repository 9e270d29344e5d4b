"""Etherscan's reply format, its error texts, and the parsing of parameters."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, Self

from explorer_app.site import Explorer
from primitives.evm import Address, Hash
from primitives.hexadecimal import HexError, decode_address, decode_hash
from primitives.reasons import ErrorWithReason

WINDOW: Final = 10_000
"""Limit of rows in a list that can be requested, over all pages and per request."""
LATEST: Final = 2**39 - 1
"""A height above all others: used for `latest` and for larger numbers."""
_MAX_DIGITS: Final = 20


class ActionReply(NamedTuple):
    """A reply; its HTTP status is always 200."""

    status: str
    message: str
    result: Any
    more: Mapping[str, Any] = {}
    """Additional members, which clients ignore."""

    @classmethod
    def ok(cls, result: Any) -> Self:
        """Return a successful reply."""
        return cls("1", "OK", result)

    @classmethod
    def refusal(cls, text: str, **more: Any) -> Self:
        """Return a reply with an error text."""
        return cls("0", "NOTOK", text, more)

    @classmethod
    def rows(cls, rows: Sequence[Any], nothing: str) -> Self:
        """Return a reply with a list; for an empty list the message is `nothing`."""
        return cls.ok(rows) if rows else cls("0", nothing, [])

    def json(self) -> dict[str, Any]:
        """Return the reply as a JSON object."""
        return {
            "status": self.status, "message": self.message, "result": self.result, **self.more
        }  # fmt: skip


class Bare(NamedTuple):
    """A reply without Etherscan's envelope, as JSON-RPC sent it."""

    value: Mapping[str, Any]

    def json(self) -> Mapping[str, Any]:
        """Return the reply as a JSON object."""
        return self.value


class ActionReason(StrEnum):
    """Why a request cannot be answered, in Etherscan's words."""

    UNKNOWN_MODULE = "Error! Missing Or invalid Module name"
    UNKNOWN_ACTION = "Error! Missing Or invalid Action name"
    WRONG_CHAIN = (
        "Missing or unsupported chainid parameter (required for v2 api), please see /v2/chainlist for the list of "
        "supported chainids"
    )
    UNAUTHORIZED = "Error! This module needs a token (Authorization: Bearer TOKEN)"
    BAD_ADDRESS = "Error! Invalid address format"
    BAD_HASH = "Error! Invalid transaction hash"
    BAD_NUMBER = "Error! Invalid parameter"
    WINDOW_TOO_LARGE = (
        f"Result window is too large, PageNo x Offset size must be less than or equal to {WINDOW}"
    )
    # The result is too large, or takes too long to compute.
    TOO_MUCH = "Query Timeout occured. Please select a smaller result dataset"
    NOT_INDEXED = "Error! This node has no index of tokens"
    NO_CALLS_INDEXED = "Error! This node has no index of internal transactions (NODE_TRACE_INDEX)"
    # An action that writes must be sent by POST.
    MUST_POST = "Error! This action needs a POST request"
    # The state at the requested height has been pruned.
    STATE_PRUNED = "Error! The state of this block was pruned (NODE_HISTORY_STATE)"
    # The height is above the head, or no block is that close to the time.
    NO_SUCH_BLOCK = "Error! No closest block found"
    BLOCK_PASSED = "Error! Block number already pass"
    NOTHING_TO_SEARCH = "Error! Missing address or topics"
    BAD_TOPIC = "Error! Invalid topic format"
    RANGE_TOO_LARGE = (
        "Error! More than {blocks} blocks can be searched by topic0 only, or by the address of a contract with at "
        "most {events} events"
    )
    SUPPLY_UNKNOWN = (
        "Error! This chain is a fork: it does not have all accounts, so their sum is unknown"
    )
    # The contract does not answer like a token.
    NO_TOKEN = "Error! The contract is not a token"  # noqa: S105 (a message)


class ActionError(ErrorWithReason):
    """A request that cannot be answered; the text is Etherscan's."""


class Range(NamedTuple):
    """The requested part of a list."""

    first: int
    """Height of the first block."""
    last: int
    """Height of the last block, inclusive."""
    skip: int
    maximum: int
    descending: bool


class Query(NamedTuple):
    """A request: its parameters and its client."""

    site: Explorer
    form: Mapping[str, str]
    client: str
    is_post: bool

    def text(self, *names: str) -> str:
        """Return the first parameter of these names that is present; empty if none is."""
        return next((self.form[name].strip() for name in names if self.form.get(name)), "")

    def address(self, name: str = "address") -> Address:
        """Return a parameter that is an address.

        Raises:
            ActionError: The parameter is not an address.
        """
        return read_address(self.text(name))

    def addresses(self, name: str, maximum: int) -> list[Address]:
        """Return comma-separated addresses, at most `maximum` of them. Raises as `address`."""
        return [read_address(text.strip()) for text in self.text(name).split(",")[:maximum]]

    def hash(self, name: str = "txhash") -> Hash:
        """Return a parameter that is a transaction hash.

        Raises:
            ActionError: The parameter is not a transaction hash.
        """
        try:
            return decode_hash(self.text(name))
        except HexError as error:
            raise ActionError(ActionReason.BAD_HASH) from error

    def number(self, *names: str, default: int | None = None) -> int:
        """Return a parameter that is a whole number, decimal or 0x.

        Raises:
            ActionError: The parameter is not a number, or it is missing and has no default.
        """
        text = self.text(*names)
        if not text and default is not None:
            return default
        return read_number(text)

    def height(self, *names: str, default: int) -> int:
        """Return a parameter that is a height; `latest` and similar tags are above all heights. Raises as `number`."""
        text = self.text(*names).lower()
        if text in {"latest", "pending", "safe", "finalized"}:
            return LATEST
        if text == "earliest":
            return 0
        return min(read_number(text), LATEST) if text else default

    def range(self, *, count: int = WINDOW, maximum: int | None = None) -> Range:
        """Return the requested part of a list.

        Args:
            count: Default number of rows per page.
            maximum: Upper limit of rows per page, if there is one; larger requests are reduced to it.

        Raises:
            ActionError: A parameter is not a number, or the rows are too far from the start of the
                list.
        """
        page = max(1, self.number("page", default=1))
        size = self.number("offset", default=0) or count
        size = size if maximum is None else min(size, maximum)
        if page * size > WINDOW:
            raise ActionError(ActionReason.WINDOW_TOO_LARGE)
        return Range(
            self.height("startblock", "startBlock", default=0),
            self.height("endblock", "endBlock", default=LATEST),
            (page - 1) * size,
            size,
            self.text("sort").lower() == "desc",
        )

    def must_post(self) -> None:
        """Reject a GET request for an action that writes.

        Raises:
            ActionError: The request is not a POST.
        """
        if not self.is_post:
            raise ActionError(ActionReason.MUST_POST)


def read_address(text: str) -> Address:
    """Parse an address in any letter case. Raises `ActionError`."""
    try:
        return decode_address(text)
    except HexError as error:
        raise ActionError(ActionReason.BAD_ADDRESS) from error


def read_number(text: str) -> int:
    """Parse a whole number that is not negative, decimal or 0x. Raises `ActionError`."""
    digits = text.lower().removeprefix("0x")
    is_hex = len(digits) < len(text)
    if not digits.isascii() or not digits.isalnum() or len(digits) > _MAX_DIGITS:
        raise ActionError(ActionReason.BAD_NUMBER)
    try:
        return int(digits, 16 if is_hex else 10)
    except ValueError as error:
        raise ActionError(ActionReason.BAD_NUMBER) from error


def text_of(data: bytes) -> str:
    """Return bytes as 0x-prefixed hex."""
    return "0x" + data.hex()
