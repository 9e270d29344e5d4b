"""Take the explorer's screenshots for the README and docs and save them in docs/images: `make screenshots`."""

import json
import sys
import tempfile
from pathlib import Path

import django

django.setup()

from tests.e2e.conftest import CLIENTS, node_script  # noqa: E402  # needs Django's models
from tests.e2e.explorer_history import History, make_history  # noqa: E402  # likewise
from tests.servers.node import ROOT, RunningNode  # noqa: E402  # grouped with the others

FOLDER = ROOT / "docs" / "images"
MAX_BYTES = 150 * 1024
"""Largest allowed size of a screenshot, because screenshots stay in the repository's history."""


def main() -> int:
    """Take the screenshots on a node with the history of the explorer tests; return 1 if one is faulty."""
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
        if size > MAX_BYTES:
            faults.append(f"{name} has {size} bytes")
    print(*faults, sep="\n", file=sys.stderr)
    return 1 if faults else 0


def pages_of(history: History) -> dict[str, dict[str, object]]:
    """Return the pages to capture, by the screenshot's name."""
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
