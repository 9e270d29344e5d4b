"""The functions of a contract's ABI, with their outputs and their mutability. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cchain_app.transaction_log.declarations import Declaration, Parameter
from explorer_app.names.abi_json import read_abi, read_parameters


class Mutability(StrEnum):
    """The state mutability of a function, in the ABI's terms."""

    PURE = "pure"
    VIEW = "view"
    NONPAYABLE = "nonpayable"
    PAYABLE = "payable"


@dataclass(frozen=True)
class Function:
    """A function of an ABI."""

    declaration: Declaration
    outputs: tuple[Parameter, ...]
    mutability: Mutability

    @property
    def name(self) -> str:
        """The name without parameters."""
        return self.declaration.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The inputs."""
        return self.declaration.parameters

    @property
    def selector(self) -> str:
        """The eight hex digits by which a form identifies the function; names alone are not unique."""
        return self.declaration.selector.hex()

    @property
    def only_reads(self) -> bool:
        """Whether the function cannot change state."""
        return self.mutability in {Mutability.PURE, Mutability.VIEW}

    @property
    def is_payable(self) -> bool:
        """Whether the call may transfer coins."""
        return self.mutability is Mutability.PAYABLE

    @property
    def is_getter(self) -> bool:
        """Whether the function reads a value and takes no arguments."""
        return self.only_reads and not self.parameters and bool(self.outputs)


def read_functions(abi: Any) -> tuple[Function, ...]:
    """Read the functions of an ABI, without duplicates, in its order.

    Args:
        abi: The decoded JSON, a list of objects.

    Raises:
        MalformedAbi: The value is not an ABI.
    """
    declarations = iter(read_abi(abi).functions)
    functions: dict[str, Function] = {}
    for entry in abi:
        if entry.get("type", "function") == "function" and not entry.get("anonymous"):
            outputs = read_parameters(entry.get("outputs"))
            function = Function(next(declarations), outputs, _mutability(entry))
            functions.setdefault(function.selector, function)
    return tuple(functions.values())


def _mutability(entry: Any) -> Mutability:
    """Return an entry's mutability; compilers before 0.4.16 wrote booleans, `constant` and `payable`, instead."""
    mutability = entry.get("stateMutability")
    if isinstance(mutability, str) and mutability in set(Mutability):
        return Mutability(mutability)
    if entry.get("constant") is True:
        return Mutability.VIEW
    return Mutability.PAYABLE if entry.get("payable") is True else Mutability.NONPAYABLE
