"""What is asked of whoever has compilers (`services.compiling`). Pure."""

from typing import Any, NamedTuple, Protocol

from explorer_app.verification.versions import Version


class Output(NamedTuple):
    """What a compiler put out."""

    version: Version
    """Of the compiler, as it says itself."""
    output: Any
    """Its standard JSON output."""


class Compilers(Protocol):
    """The compilers of a node."""

    def versions(self) -> list[Version]:
        """Return the versions that are installed, the newest first, without their commits."""

    def require(self, version: Version) -> object:
        """See that a version is there.

        Raises:
            UnknownCompiler: It is not installed, or nothing can run it.
        """

    def compile(self, version: Version, text: bytes, *, until: float) -> Output:
        """Run a compiler.

        Args:
            version: Which one.
            text: Its standard JSON input.
            until: When it has to be done, on the monotonic clock.

        Raises:
            UnknownCompiler: The version is not installed.
            WrongCommit: What is installed is another build of it.
            CompilerStopped: It took too long or too much, or ended without an answer.
            NoCompilerOutput: Its answer cannot be read.
        """
