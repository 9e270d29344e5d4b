"""The walks of docs/architecture.md: their steps exist, and files are counted as it describes."""

import ast
from pathlib import Path

import pytest

from tests.walks.ways import WALKS, Step, count

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    "step",
    sorted({step for walk in WALKS for step in walk.steps}),
    ids=lambda step: f"{step.file}:{step.function}",
)
def test_functions_of_all_steps_exist(step: Step) -> None:
    inside: ast.AST = ast.parse((ROOT / step.file).read_text())
    for name in step.function.split("."):
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        found = [node for node in ast.walk(inside) if isinstance(node, kinds) and node.name == name]
        assert found, f"{name} of {step.function}"
        inside = found[0]


@pytest.mark.parametrize(
    ("stacks", "entries"),
    [
        ([["a", "b"], ["a", "c"]], ["a", "b", "c"]),
        ([["a", "b"], ["a", "b", "b", "d"]], ["a", "b", "d"]),
        ([["a", "b"], ["a", "b"]], ["a", "b"]),
        ([["a", "b", "a"]], ["a", "b", "a"]),
        ([["a", "b"], ["a", "c", "b"]], ["a", "b", "c", "b"]),
        ([["a", "b"], ["b", "c"], ["b", "d"]], ["a", "b", "c", "d"]),
        ([["a", "b"], ["c", "b"]], ["a", "b", "c", "b"]),
        ([["a", "b"], ["c", "d"], ["a", "e"], ["c", "f"]], ["a", "b", "c", "d", "e", "f"]),
    ],
    ids=[
        "back from a call", "within a file", "the same way again", "called back", "from two files",
        "another thread goes on", "another thread comes there", "two threads in turns",
    ],
)  # fmt: skip
def test_entries_into_files_are_counted(stacks: list[list[str]], entries: list[str]) -> None:
    counted = count(stacks)

    assert list(counted.entries) == entries
    assert list(counted.files) == list(dict.fromkeys(entries))
    assert len(counted.returns) == len(entries) - len(counted.files)
