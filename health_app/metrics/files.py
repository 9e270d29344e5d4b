"""The directory that the processes of a node share, and what becomes of the files of dead ones.

Each process has files of the client library with its process ID in their names, and one that says
what it is. Counts of processes that ended go on counting, or sums would fall and rates leap: they
are added up in files of process 0, which never is. Processes that share a directory must share the
numbering of processes, so two containers need two directories.
"""

import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from prometheus_client.core import Metric
from prometheus_client.mmap_dict import MmapedDict, mmap_key
from prometheus_client.multiprocess import MultiProcessCollector

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""The client library's: it must be there before that is imported, so the settings set it."""

_DEAD = 0
_PATIENCE = 2.0
"""Seconds to wait for another process that reads the files."""


class Process(NamedTuple):
    """A process of the node that lives."""

    role: str
    """ "web", "producer", "worker", "beat", "network"."""
    pid: int


def directory() -> Path | None:
    """Return the shared directory; None where there is one process only."""
    found = os.environ.get(VARIABLE)
    return Path(found) if found else None


@contextmanager
def locked(place: Path) -> Iterator[bool]:
    """Keep the directory's files as they are; yield whether that was possible in time."""
    with (place / "lock").open("w") as file:
        until = time.monotonic() + _PATIENCE
        held = _try_lock(file.fileno())
        while not held and time.monotonic() < until:
            time.sleep(0.01)
            held = _try_lock(file.fileno())
        yield held


def enrol(place: Path, role: str) -> None:
    """Say what this process is."""
    pid = os.getpid()
    with locked(place):
        (place / f"process_{pid}").write_text(f"{role} {_started(pid)}")


def clear(place: Path) -> None:
    """Remove what a process that had the same number long ago left; before this one writes anything."""
    with locked(place):
        for path in place.glob(f"gauge_live*_{os.getpid()}.db"):
            path.unlink(missing_ok=True)


def living(place: Path) -> list[Process]:
    """Return the processes that said what they are and live, by their numbers."""
    found = (_read(path) for path in place.glob("process_*"))
    return sorted((one for one in found if one is not None), key=lambda one: one.pid)


def bury(place: Path) -> None:
    """Take over the counts of processes that ended, and remove their files. The caller holds the lock."""
    alive = {one.pid for one in living(place)}
    kept: dict[str, list[Path]] = {}
    removed = [path for path in place.glob("process_*") if _read(path) is None]
    for path in place.glob("*.db"):
        kind, _, pid = path.stem.rpartition("_")
        if not pid.isdigit() or int(pid) == _DEAD or int(pid) in alive or _exists(place, int(pid)):
            continue
        removed.append(path)
        if not kind.startswith("gauge_live"):
            kept.setdefault(kind, []).append(path)
    for kind, paths in kept.items():
        _merge(place / f"{kind}_{_DEAD}.db", paths)
    for path in removed:
        path.unlink(missing_ok=True)


def merge(paths: Iterable[Path], *, accumulate: bool = True) -> list[Metric]:
    """Return what files say together; ranges of histograms add up from the lowest, or not."""
    untyped: Any = MultiProcessCollector
    return list(untyped.merge([str(path) for path in paths], accumulate=accumulate))


def _merge(into: Path, paths: Iterable[Path]) -> None:
    """Write what files say together into one, whole or not at all."""
    draft = into.with_suffix(".new")
    draft.unlink(missing_ok=True)
    untyped: Any = MmapedDict
    written = untyped(str(draft))
    for metric in merge([path for path in (into, *paths) if path.exists()], accumulate=False):
        for sample in metric.samples:
            names, labels = list(sample.labels), list(sample.labels.values())
            key = mmap_key(metric.name, sample.name, names, labels, metric.documentation)
            written.write_value(key, sample.value, 0.0)
    written.close()
    draft.replace(into)


def _read(path: Path) -> Process | None:
    """Return who wrote a file, if that process lives; another one may have its number by now."""
    with suppress(OSError, ValueError):
        role, started = path.read_text().split()
        pid = int(path.name.removeprefix("process_"))
        if started == _started(pid) and _runs(pid):
            return Process(role, pid)
    return None


def _exists(place: Path, pid: int) -> bool:
    """Return whether a process that did not say what it is may still write its files."""
    return not (place / f"process_{pid}").exists() and _runs(pid)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _started(pid: int) -> str:
    """Return when a process began, in ticks since the machine's start; "-" where nothing says so."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "-"
    return text.rpartition(")")[2].split()[19]


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
