"""Etherscan's envelope, the words of its errors, and how parameters are read."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple, Self

from explorer_app.site import Explorer
from primitives.evm import Address, Hash
from primitives.hexadecimal import HexError, decode_address, decode_hash

WINDOW: Final = 10_000
"""Rows of a list that can be asked for, and so many at once."""
LATEST: Final = 2**39 - 1
"""A height above all: `latest`, and greater numbers."""
_MOST_DIGITS: Final = 20


class Reply(NamedTuple):
    """What is answered: all of it is status 200."""

    status: str
    message: str
    result: Any
    more: Mapping[str, Any] = {}
    """Members beside these, which clients pass over."""

    @classmethod
    def ok(cls, result: Any) -> Self:
        """Answer what was asked for."""
        return cls("1", "OK", result)

    @classmethod
    def refusal(cls, text: str, **more: Any) -> Self:
        """Say why not."""
        return cls("0", "NOTOK", text, more)

    @classmethod
    def rows(cls, found: Sequence[Any], nothing: str) -> Self:
        """Answer a list; an empty one is said in words."""
        return cls.ok(found) if found else cls("0", nothing, [])

    def json(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "status": self.status, "message": self.message, "result": self.result, **self.more
        }  # fmt: skip


class Bare(NamedTuple):
    """What is answered without an envelope: JSON-RPC's own."""

    value: Mapping[str, Any]

    def json(self) -> Mapping[str, Any]:
        """Return it as JSON has it."""
        return self.value


class ActionError(Exception):
    """A question that is not answered; the text is Etherscan's."""

    text: ClassVar[str] = ""

    @property
    def reply(self) -> Reply:
        """What is answered."""
        return Reply.refusal(self.text)


class UnknownModule(ActionError):
    """No such module."""

    text = "Error! Missing Or invalid Module name"


class UnknownAction(ActionError):
    """The module has no such action."""

    text = "Error! Missing Or invalid Action name"


class WrongChain(ActionError):
    """Another chain is asked for."""

    text = (
        "Missing or unsupported chainid parameter (required for v2 api), please see /v2/chainlist for the list of "
        "supported chainids"
    )


class BadAddress(ActionError):
    """A text that is no address."""

    text = "Error! Invalid address format"


class BadHash(ActionError):
    """A text that is no transaction's hash."""

    text = "Error! Invalid transaction hash"


class BadNumber(ActionError):
    """A text that should be a number."""

    text = "Error! Invalid parameter"


class WindowTooLarge(ActionError):
    """Rows too deep in a list."""

    text = (
        f"Result window is too large, PageNo x Offset size must be less than or equal to {WINDOW}"
    )


class TooMuch(ActionError):
    """More than one answer may have, or is worked out for one; Etherscan's words."""

    text = "Query Timeout occured. Please select a smaller result dataset"


class NotIndexed(ActionError):
    """What no rows are written of."""

    text = "Error! This node has no index of tokens"


class MustPost(ActionError):
    """What is written is sent by POST."""

    text = "Error! This action needs a POST request"


class Range(NamedTuple):
    """What part of a list is asked for."""

    first: int
    """Height of the first block."""
    last: int
    """Of the last one, included."""
    skip: int
    most: int
    descending: bool


class Query(NamedTuple):
    """A question: its parameters, and who asks."""

    site: Explorer
    form: Mapping[str, str]
    client: str
    is_post: bool

    def text(self, *names: str) -> str:
        """Return a parameter by the first of its names that is there; empty without."""
        return next((self.form[one].strip() for one in names if self.form.get(one)), "")

    def address(self, name: str = "address") -> Address:
        """Return a parameter that is an address.

        Raises:
            BadAddress: It is none.
        """
        return read_address(self.text(name))

    def addresses(self, name: str, most: int) -> list[Address]:
        """Return addresses with commas between them, so many at most. Raises as `address`."""
        return [read_address(one.strip()) for one in self.text(name).split(",")[:most]]

    def hash(self, name: str = "txhash") -> Hash:
        """Return a parameter that is a transaction's hash.

        Raises:
            BadHash: It is none.
        """
        try:
            return decode_hash(self.text(name))
        except HexError as error:
            raise BadHash from error

    def number(self, *names: str, default: int | None = None) -> int:
        """Return a parameter that is a whole number, decimal or 0x.

        Raises:
            BadNumber: It is none, or not there and has no default.
        """
        text = self.text(*names)
        if not text and default is not None:
            return default
        return read_number(text)

    def height(self, *names: str, default: int) -> int:
        """Return a parameter that is a height; `latest` and the like are above all. Raises as `number`."""
        text = self.text(*names).lower()
        if text in {"latest", "pending", "safe", "finalized"}:
            return LATEST
        if text == "earliest":
            return 0
        return min(read_number(text), LATEST) if text else default

    def range(self, *, count: int = WINDOW, most: int | None = None) -> Range:
        """Return which part of a list is asked for.

        Args:
            count: Rows of a page where nobody says how many.
            most: Rows of a page, if there is a limit; whoever asks for more gets so many.

        Raises:
            BadNumber: A number is none.
            WindowTooLarge: It lies too deep.
        """
        page = max(1, self.number("page", default=1))
        size = self.number("offset", default=0) or count
        size = size if most is None else min(size, most)
        if page * size > WINDOW:
            raise WindowTooLarge
        return Range(
            self.height("startblock", "startBlock", default=0),
            self.height("endblock", "endBlock", default=LATEST),
            (page - 1) * size,
            size,
            self.text("sort").lower() == "desc",
        )

    def must_post(self) -> None:
        """Refuse what is written by a GET.

        Raises:
            MustPost: It is one.
        """
        if not self.is_post:
            raise MustPost


def read_address(text: str) -> Address:
    """Read an address in any letter case. Raises `BadAddress`."""
    try:
        return decode_address(text)
    except HexError as error:
        raise BadAddress from error


def read_number(text: str) -> int:
    """Read a whole number that is not negative, decimal or 0x. Raises `BadNumber`."""
    digits = text.lower().removeprefix("0x")
    is_hex = len(digits) < len(text)
    if not digits.isascii() or not digits.isalnum() or len(digits) > _MOST_DIGITS:
        raise BadNumber
    try:
        return int(digits, 16 if is_hex else 10)
    except ValueError as error:
        raise BadNumber from error


def text_of(data: bytes) -> str:
    """Return bytes as 0x text."""
    return "0x" + data.hex()
