"""The house keeps its own rules: sizes, names, docstrings, documented settings and methods."""

import ast
import re
from pathlib import Path

import pytest

from nodeproject.settings.flags import table
from nodeproject.settings.node import NodeSettings
from tests.servers.node import BESIDE

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "primitives", "chainvm", "jsonrpc", "chaindb", "adminkit", "platform_app", "cchain_app", "network_app",
    "info_app", "health_app", "nodeproject", "benchmarks",
)  # fmt: skip
BANNED = {"utils", "helpers", "common", "core", "misc", "manager"}
PURE = (
    "primitives", "platform_app/config.py", "platform_app/txs", "platform_app/state",
    "platform_app/executor", "platform_app/blocks", "platform_app/genesis", "platform_app/wallet",
    "cchain_app/txs", "cchain_app/blocks", "cchain_app/evm", "cchain_app/pool",
    "cchain_app/config.py", "cchain_app/genesis.py", "cchain_app/feemarket.py", "cchain_app/filters.py",
    "network_app/wire", "network_app/bloom.py", "network_app/handshake", "network_app/proposervm", "network_app/snowman",
    "network_app/gossip", "network_app/peers", "network_app/sync",
)  # fmt: skip


def modules() -> list[Path]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return [
        path
        for path in found
        if "migrations" not in path.parts and "node_modules" not in path.parts
    ]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_each_module_says_what_lives_in_it() -> None:
    silent = [named(path) for path in modules() if len(_first_line(path)) <= 10]

    assert not silent


def test_each_module_is_a_small_room_with_a_name() -> None:
    found = modules()
    large = [named(path) for path in found if len(path.read_text().splitlines()) > 500]

    assert not large
    assert not [named(path) for path in found if path.stem in BANNED]


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


@pytest.mark.parametrize("place", PURE)
def test_protocol_code_raises_errors_of_its_own(place: str) -> None:
    root = ROOT / place
    for path in [root] if root.suffix else root.rglob("*.py"):
        raised = re.findall(
            r"raise (ValueError|AssertionError|Exception|RuntimeError)\b", path.read_text()
        )
        assert not raised, named(path)


def test_each_setting_stands_in_the_readme_as_the_code_has_it() -> None:
    readme = (ROOT / "README.md").read_text()

    for name, default, meaning in table(NodeSettings):
        shown = f"`{default}`" if default else ""
        assert f"| `{name}` | {shown} | {meaning} |" in readme


def test_the_recipe_for_production_starts_all_kinds_of_processes() -> None:
    told = (ROOT / "README.md").read_text().split("\n## Production\n")[1].split("\n## ")[0]
    commands = [line for line in told.splitlines() if line.startswith("    ")]
    for name in ("runnode", *BESIDE):
        assert any(name in command for command in commands), name


def test_the_readme_names_no_setting_that_does_not_exist() -> None:
    known = {name for name, _, _ in table(NodeSettings)}
    named_there = set(re.findall(r"\bNODE_[A-Z_]+\b", (ROOT / "README.md").read_text()))

    assert named_there <= known | {"NODE_"}


def test_lock_files_name_no_address() -> None:
    locks = [*ROOT.glob("requirements/*.lock"), *ROOT.glob("tests/clients/package-lock.json"),
             *ROOT.glob("benchmarks/package-lock.json")]  # fmt: skip

    assert len(locks) == 4
    for lock in locks:
        assert "://" not in re.sub(r'"(url|funding|license)": ".*"', "", lock.read_text()), (
            lock.name
        )
