"""What a contract can be asked and told: the functions of its ABI with what they answer and whether they change it. Pure."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cchain_app.transaction_log.declarations import Declaration, Parameter
from explorer_app.names.abi_json import read_abi, read_parameters


class Mutability(StrEnum):
    """What a function may do, in the ABI's words."""

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
        """Its name without parameters."""
        return self.declaration.name

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes."""
        return self.declaration.parameters

    @property
    def selector(self) -> str:
        """The eight digits by which a form names it: names alone are not unique."""
        return self.declaration.selector.hex()

    @property
    def only_reads(self) -> bool:
        """Whether it changes nothing."""
        return self.mutability in {Mutability.PURE, Mutability.VIEW}

    @property
    def is_payable(self) -> bool:
        """Whether coins may be sent along."""
        return self.mutability is Mutability.PAYABLE

    @property
    def is_getter(self) -> bool:
        """Whether it answers without being given anything."""
        return self.only_reads and not self.parameters and bool(self.outputs)


def read_functions(given: Any) -> tuple[Function, ...]:
    """Read the functions of an ABI, each once, in its order.

    Args:
        given: What JSON reads: a list of objects.

    Raises:
        MalformedAbi: It is no ABI.
    """
    declarations = iter(read_abi(given).functions)
    found: dict[str, Function] = {}
    for entry in given:
        if entry.get("type", "function") == "function" and not entry.get("anonymous"):
            outputs = read_parameters(entry.get("outputs"))
            one = Function(next(declarations), outputs, _mutability(entry))
            found.setdefault(one.selector, one)
    return tuple(found.values())


def _mutability(entry: Any) -> Mutability:
    """Return what an entry says; compilers before 0.4.16 wrote `constant` and `payable`, each true or false."""
    told = entry.get("stateMutability")
    if isinstance(told, str) and told in set(Mutability):
        return Mutability(told)
    if entry.get("constant") is True:
        return Mutability.VIEW
    return Mutability.PAYABLE if entry.get("payable") is True else Mutability.NONPAYABLE
