"""The interface of compilers, which `services.compiling` implements. Pure."""

from typing import Any, NamedTuple, Protocol

from explorer_app.verification.versions import CompilerVersion


class CompilerOutput(NamedTuple):
    """A compiler's output."""

    version: CompilerVersion
    """The version that the compiler reports."""
    output: Any
    """The standard JSON output."""


class Compilers(Protocol):
    """The compilers of a node."""

    def versions(self) -> list[CompilerVersion]:
        """Return the installed versions, the newest first, without their commits."""

    def require(self, version: CompilerVersion) -> object:
        """Check that a version is installed.

        Raises:
            BadSubmission: The version is not installed, or there is no Node.js to run it.
        """

    def compile(self, version: CompilerVersion, text: bytes, *, until: float) -> CompilerOutput:
        """Run a compiler.

        Args:
            version: The compiler's version.
            text: Its standard JSON input.
            until: The deadline, on the monotonic clock.

        Raises:
            BadSubmission: The version is not installed.
            VerificationFailed: The installed compiler is another build of the version, or the
                answer cannot be parsed.
            CompilerStopped: The compiler exceeded a limit, or exited without an answer.
        """
