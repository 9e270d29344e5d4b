"""Tests replace functions of the standard library in one module, never in the whole process.

Threads of earlier tests may still run, for example one that looks for a lost server. A replaced `time.sleep`
would run their waits through the test's function, and a replaced `os.fsync` would fail their writes. A test gives
the module under test a copy of the library's module instead (`tests/builders/modules.py`).
"""

import ast
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def patches_of_all(source: str) -> list[int]:
    """Return the lines that replace a function in a module of the standard library itself."""
    nodes = list(ast.walk(ast.parse(source)))
    imported = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in sys.stdlib_module_names
    }
    return [
        node.lineno
        for node in nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "setattr"
        and _is_in_library(node.args, imported)
    ]


def _is_in_library(args: list[ast.expr], imported: set[str]) -> bool:
    """Return whether the arguments of a patch name a function in a module of the standard library.

    Constants may be replaced: modules read their own constants themselves, so that a copy would not work.
    """
    match args:
        case [ast.Constant(value=str() as path), *_]:
            owner, _, name = path.rpartition(".")
            is_library = owner.rpartition(".")[2] in sys.stdlib_module_names
        case [ast.Name(id=owner), ast.Constant(value=str() as name), *_]:
            is_library = owner in imported
        case [ast.Name(id=owner), *_]:
            is_library, name = owner in imported, ""
        case [ast.Attribute(attr=owner), ast.Constant(value=str() as name), *_]:
            is_library = owner in sys.stdlib_module_names
        case _:
            return False
    return is_library and not name.isupper()


@pytest.mark.parametrize(
    "patch",
    [
        '(time, "sleep", wait)',
        "(time, name, wait)",
        '(module.time, "sleep", wait)',
        '(module.os, "fsync", fail)',
        '("package.module.time.sleep", wait)',
    ],
)
def test_patches_of_the_process_are_found(patch: str) -> None:
    assert patches_of_all(f"import time\nmonkeypatch.setattr{patch}") == [2]


@pytest.mark.parametrize(
    "patch",
    [
        '(module, "time", waits)',
        '("package.module.time", waits)',
        '(select, "has_native", no)',  # a module of this project
        '(time, "TICKS", 10)',
    ],
)
def test_patches_of_a_module_are_allowed(patch: str) -> None:
    assert patches_of_all(f"import time\nmonkeypatch.setattr{patch}") == []


def test_no_test_replaces_a_function_of_the_process() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if "node_modules" not in path.parts
        for line in patches_of_all(path.read_text())
    ]
    assert not found
