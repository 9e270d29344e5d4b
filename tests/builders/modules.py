"""Copies of modules in which a test replaces functions, for the one module under test that uses them."""

from types import ModuleType


def module_with(module: ModuleType, **replaced: object) -> ModuleType:
    """Return a copy of a module with some of its functions replaced; other modules and threads use the original."""
    made = ModuleType(module.__name__)
    vars(made).update(vars(module) | replaced)
    return made
