"""Tests replace the time of one module, never of the whole process.

Threads of earlier tests may still run, for example one that looks for a lost server. A replaced
`time.sleep` would run their waits through the test's function.
"""

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]


def patches_of_all(source: str) -> list[int]:
    """Return the lines that replace a function of the `time` module itself."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "setattr"
        and _is_in_time(node.args[0])
    ]


def _is_in_time(target: ast.expr) -> bool:
    match target:
        case ast.Constant(value=str() as path):
            return "time" in path.split(".")[:-1]
        case ast.Attribute(attr="time") | ast.Name(id="time"):
            return True
    return False


@pytest.mark.parametrize(
    "patch",
    [
        '(time, "sleep", wait)',
        '(module.time, "sleep", wait)',
        '("package.module.time.sleep", wait)',
    ],
)
def test_patches_of_the_process_are_found(patch: str) -> None:
    assert patches_of_all(f"monkeypatch.setattr{patch}") == [1]


@pytest.mark.parametrize("patch", ['(module, "time", waits)', '("package.module.time", waits)'])
def test_patches_of_a_module_are_allowed(patch: str) -> None:
    assert patches_of_all(f"monkeypatch.setattr{patch}") == []


def test_no_test_replaces_the_time_of_the_process() -> None:
    found = [
        f"{path.relative_to(TESTS)}:{line}"
        for path in sorted(TESTS.rglob("*.py"))
        if "node_modules" not in path.parts
        for line in patches_of_all(path.read_text())
    ]
    assert not found
