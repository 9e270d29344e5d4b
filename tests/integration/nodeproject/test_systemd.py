"""The units for systemd: systemd finds no faults in them, and they start and restart every process."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from nodeproject.management.commands.backup import Command as Backup
from tests.servers.node import BESIDE
from tests.servers.postgresql import PostgresqlServer

pytestmark = pytest.mark.sqlite_only

ROOT = Path(__file__).resolve().parents[3]
SYSTEMD = ROOT / "deploy/systemd"
BACKUP, TIMER = SYSTEMD / "node-backup.service", SYSTEMD / "node-backup.timer"
UNITS = sorted({*SYSTEMD.glob("node-*.service")} - {BACKUP})
"""The units of the processes."""
TARGET = SYSTEMD / "node.target"
INSTALLED = "/opt/node"
"""The path where the units expect the node."""
MAX_EXPOSED = 2.5
"""On systemd's own scale from 0 to 10, where an unrestricted service has 9.6."""

each = pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.stem)


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", *arguments], capture_output=True, text=True, check=False
    )


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    programs = str(Path(sys.executable).parent)
    units = (*UNITS, BACKUP, TIMER, TARGET)
    for unit in units:
        text = unit.read_text().replace(f"{INSTALLED}/.venv/bin", programs)
        (tmp_path / unit.name).write_text(text.replace(INSTALLED, str(ROOT)))
    copies = [str(tmp_path / unit.name) for unit in units]

    found = analyze("verify", "--man=no", "--recursive-errors=no", *copies)

    assert (found.returncode, found.stdout + found.stderr) == (0, "")


def test_systemd_reports_a_faulty_unit(tmp_path: Path) -> None:
    broken = tmp_path / "node-web.service"
    broken.write_text(UNITS[0].read_text().replace("Restart=always", "Restart=sometimes"))

    assert "sometimes" in analyze("verify", "--man=no", str(broken)).stderr


@each
def test_each_is_restarted_for_ever_and_shut_in(unit: Path) -> None:
    lines = unit.read_text().splitlines()
    assert {"Restart=always", "StartLimitIntervalSec=0", "User=node"} <= set(lines)
    assert f"Wants={' '.join(_names())}" in TARGET.read_text().splitlines()

    assert _exposure(unit) <= MAX_EXPOSED


def test_timer_makes_one_sandboxed_backup_each_time() -> None:
    lines = BACKUP.read_text().splitlines()
    assert {"Type=oneshot", "User=node", "ReadWritePaths=/var/backups/node"} <= set(lines)
    assert BACKUP.name not in TARGET.read_text()
    assert _exposure(BACKUP) <= MAX_EXPOSED
    (moment,) = re.findall("^OnCalendar=(.*)$", TIMER.read_text(), re.MULTILINE)
    assert "Next elapse" in analyze("calendar", moment).stdout
    words = _command(BACKUP).split()
    assert words[:3] == ["python", "manage.py", "backup"]
    parser = Backup().create_parser("manage.py", "backup")
    parsed = parser.parse_args(words[3:])
    assert (parsed.keep, parsed.file) == (14, Path("/var/backups/node"))


RECORDED = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
"""
AS_POSTGRES = """#!/bin/sh
shift 3
exec "$@"
"""
AS_A_SERVICE = """#!/bin/bash
set -e
while [[ $1 == -* ]]; do
  [[ $1 == -p ]] && { given+=("$2"); shift; }
  shift
done
for property in "${given[@]}"; do
  case $property in
    EnvironmentFile=*) set -a; . "${property#*=}"; set +a ;;
    WorkingDirectory=*) cd "${property#*=}" ;;
    UMask=*) umask "${property#*=}" ;;
  esac
done
exec "$@"
"""
"""Programs in place of those that need systemd, or another user than the tests have."""


@pytest.fixture
def server() -> Iterator[PostgresqlServer]:
    started = PostgresqlServer()
    yield started
    started.stop()


def test_documented_steps_prepare_a_node(tmp_path: Path, server: PostgresqlServer) -> None:
    section = (ROOT / "docs/production.md").read_text().split("## systemd from nothing\n")[1]
    steps = [line[4:] for line in section.split("\n## ")[0].splitlines() if line[:4] == "    "]
    script = "\n".join(step for step in steps if not step.startswith("make "))
    for there, here in (
        (f"{INSTALLED}/.venv/bin/python", sys.executable),
        (INSTALLED, str(ROOT)),
        ("/etc/", f"{tmp_path}/etc/"),
        ("/var/", f"{tmp_path}/var/"),
        (" -o root -g node", ""),
        (" -o root -g root", ""),
        ("ROLE node", "ROLE operator"),  # the tests' superuser is called node
        ("OWNER node", "OWNER operator"),
    ):
        assert there in script
        script = script.replace(there, here)
    # The example's settings, for this server and directory.
    script = script.replace(
        "s/PASSWORD/$password/",
        f"s/PASSWORD/$password/; s/node:/operator:/; s/:5432/:{server.port}/; s#/var/lib#{tmp_path}/var/lib#",
    )
    programs = tmp_path / "programs"
    for name, text in {
        "useradd": RECORDED, "systemctl": RECORDED, "runuser": AS_POSTGRES, "systemd-run": AS_A_SERVICE,
    }.items():  # fmt: skip
        path = programs / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    (tmp_path / "etc/systemd/system").mkdir(parents=True)
    env = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "CALLS": str(tmp_path / "calls"),
        "PGHOST": "127.0.0.1",
        "PGPORT": str(server.port),
        "PGUSER": "node",
        "PGDATABASE": "postgres",
    }

    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    data = tmp_path / "var/lib/node"
    assert done.stdout.splitlines()[-1] == (data / "admin_password").read_text().strip()
    assert (tmp_path / "etc/node/node.env").stat().st_mode & 0o777 == 0o600
    assert (data / "staking/staker.key").stat().st_mode & 0o777 == 0o600
    installed = {path.name for path in (tmp_path / "etc/systemd/system").iterdir()}
    assert installed == {path.name for path in (*UNITS, BACKUP, TIMER, TARGET)}
    assert (tmp_path / "calls").read_text().splitlines() == [
        f"useradd --system --home-dir {data} --shell /usr/sbin/nologin node",
        "systemctl daemon-reload",
        "systemctl enable --now node.target node-backup.timer",
    ]
    with psycopg.connect(server.url("node")) as connection:
        assert connection.execute("SELECT count(*) FROM platform_app_chain").fetchone() == (1,)


def _exposure(unit: Path) -> float:
    shown = analyze("security", "--offline=true", str(unit)).stdout
    (exposure,) = re.findall(r"exposure level for \S+: ([\d.]+)", shown)
    return float(exposure)


def test_units_start_the_processes_of_the_recipe() -> None:
    told = (ROOT / "docs/production.md").read_text().split("\n## ")[0]
    started = {_command(unit) for unit in UNITS}
    recipe = {
        line.split(".venv/bin/")[1]
        for line in told.splitlines()
        if line.startswith("    ") and ".venv/bin/" in line and "init_node" not in line
    }

    assert started == recipe
    assert len(UNITS) == 1 + len(BESIDE)


def _command(unit: Path) -> str:
    """Return the command that a unit runs, without its logging options."""
    (command,) = re.findall(r"^ExecStart=\S+/\.venv/bin/(.*)$", unit.read_text(), re.MULTILINE)
    return str(command).removesuffix(" --loglevel WARNING")


def _names() -> list[str]:
    order = ("web", "producer", "worker", "beat", "network")
    return [f"node-{name}.service" for name in order]
