"""Only `primitives.whole_files` writes files, so that shared directories are always written safely."""

import ast
from pathlib import Path

from tests.sources import files_below

ROOT = Path(__file__).parents[2]
PRODUCT = (
    "primitives", "utxo", "chainvm", "jsonrpc", "chaindb", "adminkit", "shared_app", "platform_app", "cchain_app", "xchain_app",
    "network_app",
    "info_app", "health_app", "explorer_app", "nodeproject", "nunatak",
)  # fmt: skip
ALLOWED = {
    "nodeproject/copies/backup_archive.py": "members of a ZIP file",
    # Inside the data directory, which only the node uses:
    "chaindb/snapshots/sqlite.py": "the lock of the snapshots",
    "health_app/metrics/sharing.py": "the locks of the processes that count together",
    "chaindb/followers.py": "the locks of the processes that follow the rows",
    "nodeproject/web/shared_head.py": "shared memory",
    "nodeproject/web/l1_tools.py": "the lock of the creation of L1s",
    "nodeproject/startup/identity.py": "the lock of the identity",
    "nodeproject/startup/chain_databases.py": "the lock of the databases of chains of subnets",
    "nodeproject/startup/process.py": "the lock of the data directory",
}
WRITING = {"O_WRONLY", "O_RDWR", "O_CREAT"}


def writes(call: ast.Call) -> bool:
    """Return whether a call opens a file for writing, as far as its source shows."""
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name in {"write_text", "write_bytes"}:
        return True
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if name == "open":
        modes = [item.value for item in arguments if isinstance(item, ast.Constant)]
        flags = {
            node.attr
            for argument in arguments
            for node in ast.walk(argument)
            if isinstance(node, ast.Attribute)
        }
        return bool(flags & WRITING) or any(
            isinstance(mode, str) and 0 < len(mode) < 4 and set("wax+") & set(mode)
            for mode in modes
        )
    return False


def found_in(path: Path) -> list[int]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [node.lineno for node in nodes if isinstance(node, ast.Call) and writes(node)]


def test_files_are_written_by_one_module() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for package in PRODUCT
        for path in files_below(ROOT / package)
        if path.suffix == ".py" and (lines := found_in(path))
    }

    assert {name: lines for name, lines in found.items() if name not in ALLOWED} == {}
    assert ALLOWED.keys() - found.keys() == set()
