"""Pictures of the explorer for README and docs, taken anew into docs/images: `make screenshots`."""

import json
import sys
import tempfile
from pathlib import Path

import django

django.setup()

from tests.e2e.conftest import CLIENTS, node_script  # noqa: E402  # needs Django's models
from tests.e2e.explorer_history import History, make_history  # noqa: E402  # likewise
from tests.servers.node import ROOT, RunningNode  # noqa: E402  # stands with the others

FOLDER = ROOT / "docs" / "images"
MOST_BYTES = 150 * 1024
"""Of a picture: they are in the repository for ever."""


def main() -> int:
    """Take the pictures on a node with the history that the tests look at; 1 when something is wrong with one."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="screenshots-") as directory:
        env = {"NODE_SOLC_DIRECTORY": str(CLIENTS), "NODE_LOG_TRANSACTIONS": "off"}
        with RunningNode(Path(directory), env=env) as node:
            node.start()
            pages = pages_of(make_history(node, node_script("compile.mjs")))
            given = {"base": f"http://127.0.0.1:{node.port}", "pages": pages, "folder": str(FOLDER)}
            faults = node_script("run.mjs", "explorer", "pictures", json.dumps(given))["faults"]
    for name in pages:
        size = (FOLDER / f"{name}.webp").stat().st_size
        print(f"{name}: {size // 1024} KiB")
        if size > MOST_BYTES:
            faults.append(f"{name} has {size} bytes")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


def pages_of(history: History) -> dict[str, dict[str, object]]:
    """Return what is taken, by the picture's name."""
    return {
        "explorer": {"path": "/"},
        "transaction": {
            "path": f"/tx/{history.bought}?tab=calls",
            "height": 1040,
            "unfold": ["DELEGATECALL"],
        },
        "token": {"path": f"/token/0x{history.coin.hex()}"},
        "validators": {"path": "/p/validators"},
    }


if __name__ == "__main__":
    sys.exit(main())
