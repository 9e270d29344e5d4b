"""The environment of a measurement, as text below the table."""

import os
import platform
import resource
import sqlite3
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import peers as packages
from benchmarks import production as profile


def description(peers: Sequence[str], *, production: bool = False) -> list[str]:
    """Return lines about machine, programs and time. Raises as `production.versions`."""
    installed = packages.versions()
    lines = [
        f"Measured {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        f"{os.cpu_count()} cores ({_processor()}), {_memory():.0f} GiB, {_system()}",
        f"Python {platform.python_version()}, SQLite {_sqlite()}",
    ]
    if peers:
        lines.append(", ".join(f"{peer} {installed[peer]}" for peer in peers))
    if production:
        lines.append(profile.versions())
    lines.append(
        f"Load before the start: {os.getloadavg()[0]:.1f} (other work on the machine adds noise)"
    )
    return lines


def allow_many_sockets() -> None:
    """Raise the limit of open files to the system's maximum; servers inherit it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _system() -> str:
    release = platform.freedesktop_os_release().get("PRETTY_NAME", sys.platform)
    return f"{release}, Linux {platform.release().partition('-')[0]}"


def _sqlite() -> str:
    return sqlite3.sqlite_version
