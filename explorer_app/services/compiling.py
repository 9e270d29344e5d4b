"""Solidity's compilers: which are installed, and running one on a job, in a process of its own with bounds.

They are npm's packages `solc`, side by side under names of their own (`npm install solc-0.8.20@npm:solc@0.8.20`):
WebAssembly, which touches no file but the input. A limit of address space does not suit that, which reserves 4 GB
and more: so what the process really has is looked at.
"""

import json
import math
import os
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from explorer_app.verification.errors import (
    CompilerStopped,
    MalformedVersion,
    NoCompilerOutput,
    UnknownCompiler,
    WrongCommit,
)
from explorer_app.verification.port import Output
from explorer_app.verification.versions import Version
from primitives import json_limits
from primitives.json_limits import MAX_VALUES, TooDeep, TooManyValues

_SCRIPT: Final = Path(__file__).with_name("compile.cjs")
_PACKAGE: Final = "solc"
_LOOK: Final = 0.05
"""Seconds between looks at how much a compiler has."""
MOST_OUTPUT: Final = 16 * 1024 * 1024
_BYTES_FOR_VALUE: Final = 16
"""Bytes of a long output for each of its values: an error has more than 30, commas of its message included."""
_MOST_WORDS: Final = 500
_NICE: Final = 10
_HEAP: Final = 512
"""MiB of JavaScript's own heap: the input and output are there, the compiler's memory is not."""


class Limits(NamedTuple):
    """What one compilation may take."""

    seconds: float
    memory: int
    """Bytes that are resident."""


class NpmCompilers:
    """The compilers of a node, as npm's packages (`verification.port.Compilers`).

    Args:
        directory: Has `node_modules` with the packages; None: there are none.
        limits: Of each compilation.
        path: Where the program `node` is looked for, as in PATH; without, there.
    """

    def __init__(self, directory: Path | None, limits: Limits, *, path: str | None = None) -> None:
        self._directory = directory
        self._limits = limits
        self._path = path

    def versions(self) -> list[Version]:
        """Return the versions that are installed, the newest first, without their commits."""
        if self._node() is None:
            return []
        return sorted({version for version, _ in self._packages()}, reverse=True)

    def require(self, version: Version) -> Path:
        """Return the package of a version.

        Raises:
            UnknownCompiler: It is not installed, or nothing can run it.
        """
        if self._node() is not None:
            for found, package in self._packages():
                if found.number == version.number:
                    return package
        raise UnknownCompiler(version.short)

    def compile(self, version: Version, text: bytes, *, until: float) -> Output:
        """Run a compiler; see `verification.port.Compilers`. The limit of one compilation holds too."""
        return output_of(self.run(version, text, until=until), version)

    def run(self, version: Version, text: bytes, *, until: float) -> bytes:
        """Run a compiler and return its answer, which `output_of` reads.

        Raises:
            UnknownCompiler: The version is not installed.
            CompilerStopped: It took too long or too much, or ended without an answer.
        """
        package = self.require(version)
        node = self._node()
        assert node is not None
        command = [node, f"--max-old-space-size={_HEAP}", str(_SCRIPT), str(package)]
        return _run(command, text, self._limits, until)

    def _node(self) -> str | None:
        return shutil.which("node", path=self._path)

    def _packages(self) -> Iterator[tuple[Version, Path]]:
        """Yield each installed package with its version."""
        if self._directory is None:
            return
        for manifest in sorted(self._directory.glob(f"node_modules/{_PACKAGE}*/package.json")):
            with suppress(OSError, ValueError, KeyError, TypeError, MalformedVersion):
                found = json.loads(manifest.read_text())
                if found["name"] == _PACKAGE:
                    yield Version.parse(found["version"]), manifest.parent


def output_of(answer: bytes, version: Version) -> Output:
    """Return the output in a compiler's answer.

    Args:
        answer: See `NpmCompilers.run`.
        version: Which compiler was asked for.

    Raises:
        WrongCommit: It is another build of the version.
        NoCompilerOutput: The answer cannot be read.
    """
    try:
        json_limits.verify(answer, values=MAX_VALUES + len(answer) // _BYTES_FOR_VALUE)
        found = msgspec.json.decode(answer)
        output = Output(Version.parse(found["version"]), found["output"])
    except (
        ValueError, KeyError, TypeError, RecursionError, MalformedVersion, TooManyValues, TooDeep
    ) as error:  # fmt: skip
        raise NoCompilerOutput from error
    if not output.version.is_built_as(version):
        raise WrongCommit(version.long, output.version.long)
    return output


def _run(command: list[str], text: bytes, limits: Limits, until: float) -> bytes:
    """Run a program on an input and return what it prints. Raises `CompilerStopped`."""
    until = min(until, time.monotonic() + limits.seconds)
    # The input is a file, not a pipe: `communicate` forgets what it has not written yet when its time is over.
    with tempfile.TemporaryFile() as given:
        given.write(text)
        given.seek(0)
        # Variables that have Node.js load files of somebody's, or hold what is secret, are none of its business.
        process = subprocess.Popen(  # noqa: S603  # the command is this module's
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={"PATH": os.environ.get("PATH", "")},
            start_new_session=True,
        )
    _bound(process.pid, limits)
    with process:
        try:
            answer, words = _communicate(process, limits.memory, until)
        finally:
            process.kill()  # nothing is done where it has ended
    if process.returncode:
        raise CompilerStopped(f"The compiler failed: {_last_words(words)}")
    if len(answer) > MOST_OUTPUT:
        raise CompilerStopped(f"The compiler's output is longer than {MOST_OUTPUT} bytes")
    return answer


def _bound(pid: int, limits: Limits) -> None:
    """Let a process end by itself if this one dies in its midst, and let blocks go first."""
    seconds = math.ceil(limits.seconds)
    with suppress(OSError):  # it has ended already
        resource.prlimit(pid, resource.RLIMIT_CPU, (seconds, seconds))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        os.setpriority(os.PRIO_PROCESS, pid, _NICE)


def _communicate(
    process: "subprocess.Popen[bytes]", memory: int, until: float
) -> tuple[bytes, bytes]:
    while True:
        try:
            return process.communicate(timeout=_LOOK)
        except subprocess.TimeoutExpired:
            pass  # it is looked at, and goes on
        if time.monotonic() > until:
            raise CompilerStopped("The compilation took too long")
        if _resident(process.pid) > memory:
            raise CompilerStopped(f"The compilation took more memory than {memory} bytes")


def _resident(pid: int) -> int:
    """Return the bytes of memory that a process has; 0 where that cannot be seen."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _last_words(words: bytes) -> str:
    lines = [one for one in words.decode("utf-8", "replace").splitlines() if "Error" in one]
    return (lines[-1] if lines else "it said nothing")[:_MOST_WORDS]
