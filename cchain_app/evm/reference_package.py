"""Load the executable specification, one fork at a time, without its side effects.

The package (and py_ecc, which it uses) raises Python's recursion limit for the whole process when it is
imported. Here the limit is restored, and raised only while the specification executes.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from dataclasses import fields as fields_of
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from primitives.recursion import recursion_limit_raised, recursion_limit_restored

EXECUTION_RECURSION_LIMIT = 16_000
"""Python frames that 1,024 nested EVM calls need (four each), with ample reserve.

Other threads see this limit too. Measured on 3.11: the JSON decoder and repr() still raise RecursionError
at this limit, and at 40,000, and do not overflow the C stack of a thread.
"""


class UnknownForkError(Exception):
    """A fork for which the specification has no module."""


@dataclass(frozen=True, slots=True)
class ForkModules:
    """The modules of one fork of the specification that the engine uses."""

    name: str
    fork: ModuleType
    vm: ModuleType
    interpreter: ModuleType
    transactions: ModuleType
    trie: ModuleType
    types: ModuleType
    message: ModuleType
    address: ModuleType
    precompiles: ModuleType
    environment: ModuleType
    gas: ModuleType

    def build(self, kind: str, values: dict[str, Any]) -> Any:
        """Return a `vm` dataclass with those of the values that exist in this fork."""
        cls = getattr(self.vm, kind)
        names = {field.name for field in fields_of(cls)}
        return cls(**{name: value for name, value in values.items() if name in names})

    @property
    def has_base_fee(self) -> bool:
        """Whether blocks have a base fee (London)."""
        return any(
            field.name == "base_fee_per_gas" for field in fields_of(self.vm.BlockEnvironment)
        )


@cache
def load_fork(name: str, package: Callable[[], str] | None = None) -> ForkModules:
    """Import one fork of the specification.

    Args:
        name: Its name.
        package: Imports the package of its modules and returns the package's name; None: the specification's own.

    Raises:
        UnknownForkError: There is no such fork.
    """
    with recursion_limit_restored():
        package_name = f"ethereum.forks.{name}" if package is None else package()
        try:
            modules = {
                field: import_module(f"{package_name}{path}") for field, path in _MODULES.items()
            }
        except ModuleNotFoundError as error:
            if error.name is None or not package_name.startswith(error.name):
                raise
            raise UnknownForkError(f"unknown fork {name}") from error
        return ForkModules(name=name, **modules)


_MODULES = {
    "fork": ".fork",
    "vm": ".vm",
    "interpreter": ".vm.interpreter",
    "transactions": ".transactions",
    "trie": ".trie",
    "types": ".fork_types",
    "message": ".utils.message",
    "address": ".utils.address",
    "precompiles": ".vm.precompiled_contracts.mapping",
    "environment": ".vm.instructions.environment",
    "gas": ".vm.gas",
}


def recursion_for_nested_calls() -> AbstractContextManager[None]:
    """Raise the recursion limit while the body runs, for any number of threads at a time."""
    return recursion_limit_raised(EXECUTION_RECURSION_LIMIT)
