"""Solidity's compilers: the installed versions, and running one in a child process with limits.

They are npm packages of `solc`, installed side by side with aliases (`npm install solc-0.8.20@npm:solc@0.8.20`):
WebAssembly, which reads no file except its input. Node.js reserves 4 GB of address space and more, so a limit of
address space is not usable; the resident memory is monitored instead.
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

from explorer_app.verification.compilers import CompilerOutput, CompilerVersion
from explorer_app.verification.errors import (
    BadSubmission,
    CompilerStopped,
    MalformedVersion,
    SubmissionReason,
    VerificationFailed,
    VerificationReason,
)
from primitives import json_limits
from primitives.json_limits import MAX_VALUES, TooDeep, TooManyValues

_SCRIPT: Final = Path(__file__).with_name("compile.cjs")
_PACKAGE: Final = "solc"
_LOOK: Final = 0.05
"""Seconds between checks of a compiler's memory."""
MAX_OUTPUT: Final = 16 * 1024 * 1024
_BYTES_FOR_VALUE: Final = 16
"""Bytes of a long output per value in it: an error has more than 30, including the commas of its message."""
_MAX_WORDS: Final = 500
_NICE: Final = 10
_HEAP: Final = 512
"""MiB of JavaScript's own heap: it contains input and output, but not the compiler's memory."""


class CompilationLimits(NamedTuple):
    """Limits of a compilation."""

    seconds: float
    memory: int
    """Resident memory in bytes."""


class NpmCompilers:
    """The compilers of a node, as npm packages (`verification.port.Compilers`).

    Args:
        directory: The directory with `node_modules`; None if there are no compilers.
        limits: Limits of each compilation.
        path: Directories to search for the program `node`, in the format of PATH; by default PATH.
    """

    def __init__(
        self, directory: Path | None, limits: CompilationLimits, *, path: str | None = None
    ) -> None:
        self._directory = directory
        self._limits = limits
        self._path = path

    def versions(self) -> list[CompilerVersion]:
        """Return the installed versions, the newest first, without their commits."""
        if self._node() is None:
            return []
        return sorted({version for version, _ in self._packages()}, reverse=True)

    def require(self, version: CompilerVersion) -> Path:
        """Return the package of a version.

        Raises:
            BadSubmission: The version is not installed, or there is no Node.js to run it.
        """
        if self._node() is not None:
            for package_name, package in self._packages():
                if package_name.number == version.number:
                    return package
        raise BadSubmission(SubmissionReason.UNKNOWN_COMPILER, version=version.short)

    def compile(self, version: CompilerVersion, text: bytes, *, until: float) -> CompilerOutput:
        """Run a compiler; see `verification.port.Compilers`. The limits of a compilation also apply."""
        return output_of(self.run(version, text, until=until), version)

    def run(self, version: CompilerVersion, text: bytes, *, until: float) -> bytes:
        """Run a compiler and return its answer, which `output_of` parses.

        Raises:
            BadSubmission: The version is not installed.
            CompilerStopped: The compiler exceeded a limit, or exited without an answer.
        """
        package = self.require(version)
        node = self._node()
        assert node is not None
        command = [node, f"--max-old-space-size={_HEAP}", str(_SCRIPT), str(package)]
        return _run(command, text, self._limits, until)

    def _node(self) -> str | None:
        return shutil.which("node", path=self._path)

    def _packages(self) -> Iterator[tuple[CompilerVersion, Path]]:
        """Yield each installed package with its version."""
        if self._directory is None:
            return
        for manifest in sorted(self._directory.glob(f"node_modules/{_PACKAGE}*/package.json")):
            with suppress(OSError, ValueError, KeyError, TypeError, MalformedVersion):
                fields = json.loads(manifest.read_text())
                if fields["name"] == _PACKAGE:
                    yield CompilerVersion.parse(fields["version"]), manifest.parent


def output_of(answer: bytes, version: CompilerVersion) -> CompilerOutput:
    """Return the output in a compiler's answer.

    Args:
        answer: The return value of `NpmCompilers.run`.
        version: The requested version.

    Raises:
        VerificationFailed: The compiler is another build of the version, or the answer cannot be
            parsed.
    """
    try:
        json_limits.verify(answer, values=MAX_VALUES + len(answer) // _BYTES_FOR_VALUE)
        decoded = msgspec.json.decode(answer)
        output = CompilerOutput(CompilerVersion.parse(decoded["version"]), decoded["output"])
    except (
        ValueError, KeyError, TypeError, RecursionError, MalformedVersion, TooManyValues, TooDeep
    ) as error:  # fmt: skip
        raise VerificationFailed(VerificationReason.NO_COMPILER_OUTPUT) from error
    if not output.version.is_built_as(version):
        raise VerificationFailed(
            VerificationReason.WRONG_COMMIT, requested=version.long, installed=output.version.long
        )
    return output


def _run(command: list[str], text: bytes, limits: CompilationLimits, until: float) -> bytes:
    """Run a program on an input and return its output. Raises `CompilerStopped`."""
    until = min(until, time.monotonic() + limits.seconds)
    # The input is a file, not a pipe: after a timeout `communicate` loses input that it has not yet written.
    with tempfile.TemporaryFile() as input_file:
        input_file.write(text)
        input_file.seek(0)
        # The environment is empty: variables may make Node.js load other files, or contain secrets.
        process = subprocess.Popen(  # noqa: S603  # the command is this module's
            command,
            stdin=input_file,
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
            process.kill()  # has no effect if the process has exited
    if process.returncode:
        raise CompilerStopped(
            VerificationReason.COMPILER_STOPPED,
            message=f"The compiler failed: {_last_words(words)}",
        )
    if len(answer) > MAX_OUTPUT:
        raise CompilerStopped(
            VerificationReason.COMPILER_STOPPED,
            message=f"The compiler's output is longer than {MAX_OUTPUT} bytes",
        )
    return answer


def _bound(pid: int, limits: CompilationLimits) -> None:
    """Set limits that hold even if this process dies, and a lower priority, so that blocks take precedence."""
    seconds = math.ceil(limits.seconds)
    with suppress(OSError):  # the process has already exited
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
            pass  # still running: check its limits and wait again
        if time.monotonic() > until:
            raise CompilerStopped(
                VerificationReason.COMPILER_STOPPED, message="The compilation took too long"
            )
        if _resident(process.pid) > memory:
            raise CompilerStopped(
                VerificationReason.COMPILER_STOPPED,
                message=f"The compilation took more memory than {memory} bytes",
            )


def _resident(pid: int) -> int:
    """Return the resident memory of a process in bytes; 0 if it cannot be determined."""
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _last_words(words: bytes) -> str:
    lines = [line for line in words.decode("utf-8", "replace").splitlines() if "Error" in line]
    return (lines[-1] if lines else "it printed no error")[:_MAX_WORDS]
