"""The repository follows its own rules: sizes, names, docstrings, documented settings and methods."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

from nodeproject.settings.flags import table
from nodeproject.settings.node import NodeSettings
from tests.servers.node import BESIDE
from tests.sources import files_below

ROOT = Path(__file__).parents[2]
PACKAGES = (
    "primitives", "utxo", "chainvm", "jsonrpc", "chaindb", "adminkit", "shared_app", "platform_app", "cchain_app", "xchain_app",
    "network_app",
    "info_app", "health_app", "explorer_app", "nodeproject", "nunatak", "benchmarks",
)  # fmt: skip
PRODUCT = set(PACKAGES) - {"benchmarks"}
BANNED = {"utils", "helpers", "common", "core", "misc", "manager"}
PURE = (
    "primitives", "utxo", "platform_app/config.py", "platform_app/txs", "platform_app/state",
    "platform_app/executor", "platform_app/blocks", "platform_app/genesis", "platform_app/wallet",
    "xchain_app/config.py", "xchain_app/txs", "xchain_app/state", "xchain_app/executor", "xchain_app/blocks",
    "xchain_app/genesis",
    "cchain_app/atomic", "cchain_app/txs", "cchain_app/blocks", "cchain_app/evm", "cchain_app/pool",
    "cchain_app/config.py", "cchain_app/genesis.py", "cchain_app/feemarket.py", "cchain_app/filters.py",
    "cchain_app/rules", "cchain_app/precompiles",
    "cchain_app/transaction_log",
    "network_app/wire", "network_app/bloom.py", "network_app/handshake", "network_app/proposervm", "network_app/snowman",
    "network_app/gossip", "network_app/peers", "network_app/sync", "network_app/consensus",
)  # fmt: skip
FOR_USERS = (
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/recipes").glob("*")),
)
LINKING = (*FOR_USERS, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs/protocol").glob("*.md")))


def modules() -> list[Path]:
    found = (path for package in PACKAGES for path in files_below(ROOT / package))
    return [path for path in found if path.suffix == ".py" and "migrations" not in path.parts]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_each_module_has_a_docstring() -> None:
    silent = [named(path) for path in modules() if len(_first_line(path)) <= 10]

    assert not silent


def test_each_module_is_small_and_has_a_specific_name() -> None:
    found = modules()
    large = [named(path) for path in found if len(path.read_text().splitlines()) > 500]

    assert not large
    assert not [named(path) for path in found if path.stem in BANNED]


def test_benchmarks_import_no_node_internals() -> None:
    found = {
        f"{named(path)}: {name}"
        for path in files_below(ROOT / "benchmarks")
        if path.suffix == ".py"
        for name in imported(path.read_text())
        if name.partition(".")[0] in PRODUCT
    }

    assert not found


def imported(source: str) -> set[str]:
    """Return the modules that a source imports, at module level or later."""
    nodes = list(ast.walk(ast.parse(source)))
    names = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    return names | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def _first_line(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


@pytest.mark.parametrize("place", PURE)
def test_protocol_code_raises_its_own_errors(place: str) -> None:
    root = ROOT / place
    for path in [root] if root.suffix else root.rglob("*.py"):
        raised = re.findall(
            r"raise (ValueError|AssertionError|Exception|RuntimeError)\b", path.read_text()
        )
        assert not raised, named(path)


def test_settings_table_matches_the_code() -> None:
    told = (ROOT / "docs/settings.md").read_text()

    for name, default, meaning in table(NodeSettings):
        shown = f"`{default}`" if default else ""
        assert f"| `{name}` | {shown} | {meaning} |" in told


def test_the_architecture_document_shows_the_import_contracts() -> None:
    shown = (ROOT / "docs/architecture.md").read_text()
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]

    assert [name for name in linter["root_packages"] if f'{name}["<b>{name}</b>' not in shown] == []
    for contract in linter["contracts"]:
        if contract["type"] == "layers" and "containers" in contract:
            (package,) = contract["containers"]
            rooms = " → ".join(layer.replace(" | ", ", ") for layer in contract["layers"])
            assert f"| `{package}` | {rooms} |" in shown


def test_the_wheel_has_every_package() -> None:
    tool = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]

    assert set(tool["maturin"]["python-packages"]) == PRODUCT
    assert set(tool["importlinter"]["root_packages"]) == PRODUCT


def test_the_recipe_for_production_starts_all_kinds_of_processes() -> None:
    told = (ROOT / "docs/production.md").read_text().split("\n## ")[0]
    commands = [line for line in told.splitlines() if line.startswith("    ")]
    for name in ("runnode", *BESIDE):
        assert any(name in command for command in commands), name


@pytest.mark.parametrize("path", FOR_USERS, ids=named)
def test_settings_named_in_texts_exist(path: Path) -> None:
    known = {name for name, _, _ in table(NodeSettings)}
    named_there = set(re.findall(r"\bNODE_[A-Z_]+\b", path.read_text()))

    assert named_there <= known | {"NODE_"}


@pytest.mark.parametrize("path", LINKING, ids=named)
def test_links_between_documents_have_targets(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", path.read_text())

    assert not [target for target in targets if not (path.parent / target).exists()]


def test_lock_files_name_no_address() -> None:
    locks = [*ROOT.glob("requirements/*.lock"), *ROOT.glob("tests/clients/package-lock.json"),
             *ROOT.glob("tests/clients/projects/*/package-lock.json"),
             *ROOT.glob("benchmarks/package-lock.json")]  # fmt: skip

    assert len(locks) == 7
    for lock in locks:
        assert "://" not in re.sub(r'"(url|funding|license)": ".*"', "", lock.read_text()), (
            lock.name
        )
