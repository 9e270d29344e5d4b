"""The code in docs/recipes for client libraries, run unchanged against a node, apart from the node's address."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.conftest import CLIENTS
from tests.servers.node import RunningNode

ROOT = Path(__file__).resolve().parents[2]
ADDRESS = "http://127.0.0.1:8545"
CHAIN_ID = 31337
SECONDS = 120


def blocks(recipe: str, language: str) -> list[str]:
    """Return the recipe's code blocks in a language."""
    text = (ROOT / "docs/recipes" / recipe).read_text()
    return re.findall(rf"^```{language}\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The URL of a node started as in the recipes. Its blocks are not replayed, because the recipes use cheats."""
    with RunningNode(tmp_path / "node", env={"NODE_CHAIN_ID": str(CHAIN_ID)}) as node:
        node.start()
        yield f"http://127.0.0.1:{node.port}"


def run(command: list[str], directory: Path) -> None:
    """Run a command; its output is in the failure's message."""
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("recipe", ["viem.md", "ethers.md"])
def test_the_recipe_of_a_javascript_library_runs(recipe: str, url: str) -> None:
    (code,) = blocks(recipe, "js")
    assert ADDRESS in code

    run(["node", "--input-type=module", "--eval", code.replace(ADDRESS, url)], CLIENTS)


def test_the_recipe_of_web3py_runs(url: str, tmp_path: Path) -> None:
    code = "\n".join(blocks("web3py.md", "python"))
    assert ADDRESS in code

    run([sys.executable, "-c", code.replace(ADDRESS, url)], tmp_path)


def test_the_recipe_of_pytest_runs(url: str, tmp_path: Path) -> None:
    tests, conftest = blocks("pytest.md", "python")
    (tmp_path / "test_recipe.py").write_text(tests)
    (tmp_path / "conftest.py").write_text(conftest)

    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "nunatak.pytest_plugin",
        "-p",
        "no:cacheprovider",
    ]
    run([*command, "--nunatak-url", url], tmp_path)
