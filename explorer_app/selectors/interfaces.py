"""Functions and storage layout of a contract: from its own sources or ABI, or for a proxy from its implementation's."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

import msgspec

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from cchain_app.selectors.state import prefetch_slots, state_at
from explorer_app.names.abi_json import Function, MalformedAbi, read_functions
from explorer_app.selectors import proxies, verified
from explorer_app.selectors.verified import CodeInfo
from explorer_app.storage.layout import MalformedLayout, VariableLayout, read_layout
from explorer_app.storage.reading import Fetch
from primitives.evm import Address, Slot, Word

SECONDS: Final = 2.0
"""Time limit for the storage of one page: a fork requests each slot from its remote node."""
MAX_PARTS: Final = 8
"""Limit of contracts whose functions are combined; some diamonds have more."""


class ContractInterface(NamedTuple):
    """The functions of a contract that come from one ABI."""

    address: Address
    """The contract that the sources or the ABI belong to: the contract itself or an implementation."""
    name: str
    """The name of that contract; may be empty."""
    is_proven: bool
    """Whether the ABI comes from verified sources; else a user supplied it."""
    functions: tuple[Function, ...]
    is_claimed: bool = False
    """Whether it belongs to an implementation that only the contract's own answer names."""


class StorageLayout(NamedTuple):
    """A storage layout and the contract that it belongs to."""

    address: Address
    """The contract itself or its implementation."""
    name: str
    layout: VariableLayout


def interfaces(chain: EvmChain, address: Address) -> list[ContractInterface]:
    """Return the functions of a contract, without duplicates: those of its implementations first.

    Unspecified: an implementation that the contract merely claims to have comes after the contract's own functions.
    Implementations are included while their ABIs have together at most `MAX_ABI` characters.
    """
    parts: list[ContractInterface] = []
    selectors: set[str] = set()
    left = verified.MAX_ABI
    targets, is_claimed = _targets(chain, address)
    for code_info in _known(chain, (address, *targets) if is_claimed else (*targets, address)):
        if code_info.abi_text is None:
            continue
        left -= len(code_info.abi_text)
        if left < 0 and code_info.address != address:
            continue
        functions = [
            function
            for function in _functions(code_info.abi_text)
            if function.selector not in selectors
        ]
        selectors.update(function.selector for function in functions)
        name = (
            code_info.contract.name
            if code_info.contract
            else code_info.supplied and code_info.supplied.name
        )
        parts.append(
            ContractInterface(
                code_info.address, name or "", code_info.contract is not None, tuple(functions),
                is_claimed=is_claimed and code_info.address != address,
            )
        )  # fmt: skip
    return parts


def storage_layout(chain: EvmChain, address: Address) -> StorageLayout | None:
    """Return the storage layout of a contract, for a proxy its implementation's; None if it is unknown.

    Unspecified: if an implementation has no variables, the contract's own layout is used; an empty layout is only
    returned if the layouts of all implementations are known.
    """
    targets, _ = _targets(chain, address)
    parts = _known(chain, (*targets, address))
    layouts = [layout for code_info in parts if (layout := _layout(code_info)) is not None]
    usable = [layout for layout in layouts if layout.layout.variables]
    if {layout.address for layout in layouts}.issuperset(targets):
        usable = usable or layouts
    return next(iter(usable), None)


def slots_reader(chain: EvmChain, address: Address) -> Fetch:
    """Return a function that reads slots of a contract at the current head, for `SECONDS` from now on.

    The function raises `UpstreamError` if the chain is a fork and the remote node does not return the state.
    """
    number = blocks.head(chain).number
    state = state_at(chain, number)
    until = time.monotonic() + SECONDS

    def fetch(slots: Sequence[Slot]) -> Mapping[Slot, Word]:
        prefetch_slots(chain, address, slots, number)
        in_time = takewhile(lambda _: time.monotonic() < until, slots)
        return {slot: state.storage(address, chain.stored_slot(slot)) for slot in in_time}

    return fetch


def _targets(chain: EvmChain, address: Address) -> proxies.FollowedProxy:
    """Return the implementations of a proxy, up to the limit."""
    proxy = proxies.followed(chain, address)
    return proxy._replace(implementations=proxy.implementations[: MAX_PARTS - 1])


def _known(chain: EvmChain, addresses: Iterable[Address]) -> Iterator[CodeInfo]:
    infos = (verified.code_info(chain, address) for address in addresses)
    return (contract for contract in infos if contract is not None)


def _functions(text: str) -> tuple[Function, ...]:
    try:
        return read_functions(msgspec.json.decode(text))
    except MalformedAbi:
        return ()


def _layout(code_info: CodeInfo) -> StorageLayout | None:
    """Return the layout from the compiler's output; compilers before 0.5.13 do not write one."""
    if code_info.contract is None:
        return None
    layout_json = msgspec.json.decode(code_info.contract.artifacts).get("storageLayout")
    try:
        return (
            None
            if layout_json is None
            else StorageLayout(code_info.address, code_info.contract.name, read_layout(layout_json))
        )
    except MalformedLayout:
        return None
