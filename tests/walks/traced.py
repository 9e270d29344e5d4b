"""Runs `manage.py …` and logs the call stack of every step of a walk when it is reached.

    WALKS_LOG=FILE python -m tests.walks.traced runnode

A line is a JSON object: the step's function as `file:name`, and the project's files in its call stack,
outermost first, from the start of the event loop's callback or of the thread.
"""

import json
import os
import runpy
import sys
import threading
import tomllib
from collections import defaultdict
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from tests.walks.ways import WALKS

ROOT: Final = Path(__file__).resolve().parents[2]
PRODUCT: Final = frozenset(
    tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
)
LOOPS: Final = (
    "uvicorn/server.py", "asyncio/runners.py", "asyncio/base_events.py", "nodeproject/processes/embedded.py",
    "nodeproject/processes/broker.py",
)  # fmt: skip
"""Files whose functions run a loop: uvicorn's, asyncio's, and that of Celery's worker. They and their callers are
not part of a walk, which goes on in the callback or in the task."""


class Tracer:
    """A profiler of the calls of all threads; install it before they start."""

    def __init__(self, log: Path) -> None:
        self._wanted: defaultdict[str, set[str]] = defaultdict(set)
        for step in (step for walk in WALKS for step in walk.steps):
            self._wanted[f"{step.file}:{step.function}"].add(step.caller)
        self._names: dict[CodeType, str | None] = {}
        self._log = log.open("a", buffering=1)
        self._lock = threading.Lock()

    def install(self) -> None:
        """Trace the calls of this thread from now on, and those of all future threads."""
        threading.setprofile(self._look)
        sys.setprofile(self._look)

    def _look(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call":
            return
        code = frame.f_code
        try:
            name = self._names[code]
        except KeyError:
            name = f"{_product(code.co_filename)}:{code.co_qualname}"
            name = self._names[code] = name if name in self._wanted else None
        if name is not None and any(_is_below(frame, item) for item in self._wanted[name]):
            line = json.dumps({"step": name, "stack": _stack(frame)})
            with self._lock:
                self._log.write(line + "\n")


def _product(filename: str) -> str | None:
    """Return the path of one of the project's files in the repository; None for any other file."""
    path = filename.removeprefix(f"{ROOT}/")
    return path if path.partition("/")[0] in PRODUCT else None


def _is_below(frame: FrameType | None, caller: str) -> bool:
    while caller and frame is not None and frame.f_code.co_qualname != caller:
        frame = frame.f_back
    return frame is not None


def _stack(frame: FrameType | None) -> list[str]:
    files: list[str] = []
    while frame is not None and not frame.f_code.co_filename.endswith(LOOPS):
        file = _product(frame.f_code.co_filename)
        if file is not None and files[-1:] != [file]:
            files.append(file)
        frame = frame.f_back
    return files[::-1]


if __name__ == "__main__":
    Tracer(Path(os.environ["WALKS_LOG"])).install()
    sys.argv[0] = str(ROOT / "manage.py")
    runpy.run_path(sys.argv[0], run_name="__main__")
