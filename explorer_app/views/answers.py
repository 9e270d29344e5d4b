"""Calls of contracts for a page: the decoded answer, or the reason why the call failed."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from cchain_app.evm.engine import CallInterrupted, CallRejected, CallResult
from cchain_app.evm.failures import ERROR_SELECTOR, PANIC_SELECTOR, reason_of
from cchain_app.selectors import blocks
from cchain_app.transaction_log.errors import Undecodable
from explorer_app.names.abi_json import Function
from explorer_app.names.amounts import TokenUnit, answer_with_amount, with_amounts
from explorer_app.names.book import NO_ABI, Abi
from explorer_app.names.decoding import DecodedArgument, DecodedCall, arguments_of, count, first
from explorer_app.selectors import verified
from explorer_app.selectors.contracts import Contracts
from explorer_app.selectors.tokens import TokenRow, tokens_at
from explorer_app.selectors.traces import Busy, execution_slot
from explorer_app.site import Explorer
from explorer_app.tokens.events import TokenStandard
from primitives.counting import counted
from primitives.evm import Address

GAS: Final = 30_000_000
"""Gas limit of a call, unless the node's limit is lower (NODE_RPC_GAS_CAP)."""
SECONDS: Final = 1.0
"""Time limit of all calls for a page."""
MAX_VALUES: Final = 1000
"""Limit of values in all answers on a page, including their parts."""
_KEPT_FREE: Final = 20
"""Values reserved for each later answer; enough for an answer with several levels."""
_MAX_SHOWN: Final = 256
"""Limit of bytes shown of unknown revert data."""


class ReadResult(NamedTuple):
    """The result of a call."""

    values: tuple[DecodedArgument, ...] = ()
    trouble: str = ""
    """Why there are no values; empty if there are."""
    error: DecodedCall | None = None
    """The error with which the contract reverted, if it is known."""
    remark: str = ""
    """How many of the values are included, if not all."""

    def cut(self, maximum: int) -> "ReadResult":
        """Return the same answer with at most `most` values, or arguments of the error."""
        if self.value_count <= maximum:
            return self
        shown = first(self._parts, maximum)
        remark = f"the first {count(shown):,} of {self.value_count:,} values"
        if self.error is None:
            return self._replace(values=shown, remark=remark)
        return self._replace(error=replace(self.error, arguments=shown), remark=remark)

    @property
    def value_count(self) -> int:
        """The number of values, including their parts."""
        return count(self._parts)

    @property
    def _parts(self) -> tuple[DecodedArgument, ...]:
        return self.values if self.error is None else self.error.arguments


class ContractCaller:
    """Calls a contract at the head, within the time limit of a page.

    Args:
        site: The explorer.
        address: The contract.
    """

    def __init__(self, site: Explorer, address: Address) -> None:
        self._site = site
        self._address = address
        self._contracts = Contracts(site.evm, blocks.head(site.evm))
        self._until = time.monotonic() + SECONDS
        self._gas = min(GAS, site.evm.gas_cap(GAS) or GAS)
        token = tokens_at(site.evm, [address]).get(address)
        self._unit = None if token is None else unit_of(token)

    def ask(self, function: Function, data: bytes) -> ReadResult:
        """Call a function.

        Args:
            function: The function.
            data: Its selector and arguments.

        Raises:
            UpstreamError: The chain is a fork, and the remote node did not return the state.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            return ReadResult(
                trouble="The function was not called because the time limit of the page was reached."
            )
        try:
            result = self._contracts.call(self._address, data, self._gas, left)
        except CallInterrupted:
            return ReadResult(trouble="The call took longer than the time limit of the page.")
        except CallRejected as error:
            return ReadResult(trouble=f"The call could not start: {error}.")
        if result.reverted:
            return failed(self._site, self._address, result.output)
        if result.error is not None:
            return ReadResult(trouble=f"The call failed: {result.error}.")
        answer = _decoded(function, result)
        values = answer_with_amount(function.name, answer.values, self._unit)
        return answer._replace(values=values)


def failed(site: Explorer, address: Address, output: bytes) -> ReadResult:
    """Return the reason of a revert, by the contract's own errors first, then by common ones.

    Args:
        site: The explorer.
        address: The contract that was called.
        output: The revert data.
    """
    if not output:
        return ReadResult(trouble="The call reverted without a reason.")
    reason = reason_of(output)
    if reason is not None and output.startswith((ERROR_SELECTOR, PANIC_SELECTOR)):
        return ReadResult(trouble=f"The call reverted: {reason}")
    error = site.names.error(output, verified.abi_of(site.evm, address))
    if error is not None:
        return ReadResult(trouble=f"The call reverted with {error.name}.", error=error)
    cut = "…" if len(output) > _MAX_SHOWN else ""
    return ReadResult(trouble=f"The call reverted with 0x{output[:_MAX_SHOWN].hex()}{cut}")


def ask(
    site: Explorer, address: Address, questions: list[tuple[Function, bytes]]
) -> list[ReadResult]:
    """Call a contract several times in one execution slot (`ContractCaller.ask`); if none is free, all answers say so."""
    try:
        with execution_slot(site.executing):
            asker = ContractCaller(site, address)
            return fitted([asker.ask(function, data) for function, data in questions])
    except Busy as error:
        return [ReadResult(trouble=str(error))] * len(questions)


def fitted(answers: Sequence[ReadResult]) -> list[ReadResult]:
    """Return answers with at most `MAX_VALUES` values in total; longer answers are truncated."""
    results = []
    values_left = MAX_VALUES
    for later, answer in zip(reversed(range(len(answers))), answers, strict=True):
        cut = answer.cut(values_left - later * _KEPT_FREE)
        values_left -= cut.value_count
        results.append(cut)
    return results


def _decoded(function: Function, result: CallResult) -> ReadResult:
    try:
        return ReadResult(arguments_of(function.outputs, result.output))
    except Undecodable:
        types = ", ".join(output.type for output in function.outputs)
        size = len(result.output)
        return ReadResult(
            trouble=f"The call returned {counted(size, 'byte')}, not values of the types ({types})."
        )


MOST: Final = 8
"""Limit of contracts per page whose ABI is queried; for a proxy the query calls the contract."""


class PageContracts:
    """The ABIs of contracts, and the tokens among them, for one page.

    Args:
        site: The explorer.
        addresses: The contracts, of which some may be tokens; None is ignored.
    """

    def __init__(self, site: Explorer, addresses: Iterable[bytes | None]) -> None:
        self._site = site
        self._abis: dict[bytes, Abi] = {}
        self.tokens: Final[dict[Address, TokenRow]] = {}
        """The known tokens by address."""
        self.find_tokens(addresses)

    def find_tokens(self, addresses: Iterable[bytes | None]) -> None:
        """Read the tokens among further contracts; None is ignored."""
        present = {Address(bytes(address)) for address in addresses if address is not None}
        if present:
            self.tokens.update(tokens_at(self._site.evm, present))

    def call(self, to: bytes | None, data: bytes) -> DecodedCall | None:
        """Return a call of a contract with its arguments; None if it is unknown or a creation."""
        if to is None:
            return None
        return with_amounts(self._site.names.call(data, self.abi(to)), self._unit(to))

    def method(self, to: bytes | None, data: bytes) -> str:
        """Return the name of the called function, else its selector; empty if `data` is not a call."""
        return self._site.names.method(data, self.abi(to))

    def event(self, at: bytes, topics: Sequence[bytes], data: bytes) -> DecodedCall | None:
        """Return an event of a contract; None if it is unknown."""
        return with_amounts(self._site.names.event(topics, data, self.abi(at)), self._unit(at))

    def error(self, at: bytes | None, output: bytes) -> DecodedCall | None:
        """Return an error of a contract; None if it is unknown."""
        return with_amounts(self._site.names.error(output, self.abi(at)), self._unit(at))

    def abi(self, address: bytes | None) -> Abi:
        """Return the ABI of a contract; empty if it is unknown, and for contracts beyond the first `MOST`."""
        if address is None:
            return NO_ABI
        key = bytes(address)
        if key not in self._abis:
            if len(self._abis) >= MOST:
                return NO_ABI
            self._abis[key] = verified.abi_of(self._site.evm, Address(key))
        return self._abis[key]

    def _unit(self, address: bytes | None) -> TokenUnit | None:
        token = None if address is None else self.tokens.get(Address(bytes(address)))
        return None if token is None else unit_of(token)


def unit_of(token: TokenRow) -> TokenUnit | None:
    """Return the unit of an ERC-20's amounts; None for other tokens, and if the decimals are unknown."""
    if token.kind != TokenStandard.ERC20 or token.decimals is None:
        return None
    return TokenUnit(token.decimals, token.symbol or "")
