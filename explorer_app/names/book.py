"""Names of selectors and topics: from the contract's own ABI first, then from lists of common ones. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from cchain_app.transaction_log.abi import SELECTOR_BYTES
from cchain_app.transaction_log.declarations import Declaration, listed
from explorer_app.names.decoding import DecodedCall, decode_call, decode_event


@dataclass(frozen=True)
class Abi:
    """The functions, events and errors of a contract."""

    functions: tuple[Declaration, ...] = ()
    events: tuple[Declaration, ...] = ()
    errors: tuple[Declaration, ...] = ()


NO_ABI = Abi()


class NameBook:
    """Names of common functions, events and errors.

    Args:
        common: The lists.
    """

    def __init__(self, common: Abi) -> None:
        self._functions = _by_selector(common.functions)
        self._errors = _by_selector(common.errors)
        self._events: defaultdict[bytes, list[Declaration]] = defaultdict(list)
        for event in common.events:
            self._events[event.topic].append(event)

    @classmethod
    def load(cls) -> Self:
        """Load the lists that come with the node."""
        return cls(
            Abi(
                tuple(listed("functions")),
                tuple(listed("events")),
                tuple(listed("errors")),
            )
        )

    def method(self, data: bytes, abi: Abi = NO_ABI) -> str:
        """Return the name of the called function for a list, else its selector; empty if `data` is not a call."""
        selector = bytes(data[:SELECTOR_BYTES])
        if len(selector) < SELECTOR_BYTES:
            return ""
        for declaration in (*abi.functions, *self._functions.get(selector, ())):
            if declaration.selector == selector:
                return str(declaration.name)
        return "0x" + selector.hex()

    def function(self, data: bytes, abi: Abi = NO_ABI) -> Declaration | None:
        """Return the function that is probably called, without checking its arguments; None if it is unknown."""
        selector = bytes(data[:SELECTOR_BYTES])
        functions = (*abi.functions, *self._functions.get(selector, ()))
        return next(
            (declaration for declaration in functions if declaration.selector == selector), None
        )

    def call(self, data: bytes, abi: Abi = NO_ABI) -> DecodedCall | None:
        """Return a call with its arguments; None if the function is unknown or the arguments do not fit."""
        return _first(data, abi.functions, self._functions.get(bytes(data[:SELECTOR_BYTES]), ()))

    def error(self, output: bytes, abi: Abi = NO_ABI) -> DecodedCall | None:
        """Return an error with its arguments; None as for `call`."""
        return _first(output, abi.errors, self._errors.get(bytes(output[:SELECTOR_BYTES]), ()))

    def event(self, topics: Sequence[bytes], data: bytes, abi: Abi = NO_ABI) -> DecodedCall | None:
        """Return an event with its arguments; None as for `call`. An anonymous event has no name."""
        if not topics:
            return None
        for declarations, guess in (
            (abi.events, False),
            (self._events.get(bytes(topics[0]), ()), True),
        ):
            for declaration in declarations:
                decoded = decode_event(declaration, topics, data, guess=guess)
                if decoded is not None:
                    return decoded
        return None


def _first(
    data: bytes, own: Iterable[Declaration], common: Iterable[Declaration]
) -> DecodedCall | None:
    for declarations, guess in ((own, False), (common, True)):
        for declaration in declarations:
            decoded = decode_call(declaration, data, guess=guess)
            if decoded is not None:
                return decoded
    return None


def _by_selector(declarations: Iterable[Declaration]) -> dict[bytes, list[Declaration]]:
    by_selector: defaultdict[bytes, list[Declaration]] = defaultdict(list)
    for declaration in declarations:
        by_selector[declaration.selector].append(declaration)
    return dict(by_selector)
