"""The choice of a Python by `make run`, and its error message if none is suitable."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MINE = f"python3.{sys.version_info.minor}"


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Return a directory for the PATH with the programs that the script needs, without a Python."""
    directory = tmp_path / "bin"
    directory.mkdir()
    for name in ("bash", "dirname", "sed"):
        found = shutil.which(name)
        assert found
        (directory / name).symlink_to(found)
    return directory


def add(programs: Path, name: str, kind: str) -> None:
    """Add a fake Python that only prints this implementation and version."""
    program = programs / name
    program.write_text(f"#!{programs}/bash\necho '{kind}'\n")
    program.chmod(0o755)


def make_venv(programs: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ROOT / "scripts/make_venv.sh", programs.parent / "venv"],
        cwd=ROOT,
        env={"PATH": str(programs)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_missing_python_is_reported_with_supported_versions(programs: Path) -> None:
    made = make_venv(programs)

    assert made.returncode == 1
    assert made.stderr == (
        "No Python for the node here: it needs CPython 3.11 to 3.13,"
        " as python3 or python3.11 and so on.\n"
    )
    assert not (programs.parent / "venv").exists()


@pytest.mark.parametrize(
    "kind", ["CPython 3.10", "CPython 3.14", "PyPy 3.11", "CPython 3.13 free-threaded"]
)
def test_unsuitable_python_is_named(programs: Path, kind: str) -> None:
    add(programs, "python3", kind)

    made = make_venv(programs)

    assert made.returncode == 1
    assert made.stderr.endswith(f"and so on, python3 is {kind}.\n")
    assert made.stderr.count("\n") == 1


def test_another_python_is_used_if_the_first_is_unsuitable(programs: Path) -> None:
    add(programs, "python3", "CPython 3.14")
    (programs / MINE).write_text(f'#!{programs}/bash\nexec {sys.executable} "$@"\n')
    (programs / MINE).chmod(0o755)

    made = make_venv(programs)

    assert (made.returncode, made.stderr) == (0, "")
    version = subprocess.run(
        [programs.parent / "venv/bin/python", "-c", "import pip, sys; print(sys.version_info[:2])"],
        check=True,
        capture_output=True,
        text=True,
    )
    assert version.stdout == f"{sys.version_info[:2]}\n"
