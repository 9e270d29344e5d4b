"""What a node loads when it starts: each module takes time and memory, whether it is used or not."""

import os
import subprocess
import sys
from pathlib import Path

LOADED = """
import asyncio, sys
import nodeproject.asgi as asgi
first = set(sys.modules)
asyncio.run(asgi.Pages().load())
print(" ".join(first & {*sys.argv[1].split()}), "|", " ".join({"nodeproject.urls", "cchain_app.admin"} - {*sys.modules}))
"""

UNUSED = (
    "nodeproject.urls cchain_app.admin unfold.admin ninja pydantic twisted psycopg structlog zxcvbn"
)


def test_a_start_on_sqlite_loads_no_pages_and_no_other_server(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", LOADED, UNUSED],
        env={
            **os.environ,
            "NODE_DATA_DIR": str(tmp_path),
            "NODE_DATABASE_URL": "",
            "NODE_LOG_FORMAT": "text",
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    early, missing = (found.split() for found in made.stdout.split("|"))
    assert not early, "loaded at the start"
    assert not missing, "not loaded with the pages"
