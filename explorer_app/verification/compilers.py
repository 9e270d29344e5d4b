"""The interface of compilers, which `services.compiling` implements, and their versions. Pure."""

import re
from typing import Any, Final, NamedTuple, Protocol, Self

from explorer_app.verification.errors import MalformedVersion, SubmissionReason

_VERSION: Final = re.compile(
    r"v?(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:-[0-9A-Za-z.]+)?(?:\+commit\.([0-9a-f]{6,40}))?(?:\.[A-Za-z0-9+_.]+)?"
)
_MOST: Final = 80
"""Limit of characters of a version."""

EVM_VERSIONS: Final = (
    ("byzantium", (0, 4, 21)), ("constantinople", (0, 5, 0)), ("petersburg", (0, 5, 5)), ("istanbul", (0, 5, 14)),
    ("berlin", (0, 8, 5)), ("london", (0, 8, 7)), ("paris", (0, 8, 18)), ("shanghai", (0, 8, 20)),
    ("cancun", (0, 8, 25)), ("prague", (0, 8, 30)), ("osaka", (0, 8, 31)),
)  # fmt: skip
"""EVM versions, each with the compiler version since which it is the default, or known."""


class CompilerVersion(NamedTuple):
    """A compiler's version."""

    major: int
    minor: int
    patch: int
    commit: str = ""
    """The commit of the compiler's repository; empty if unknown."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse `v0.8.37+commit.f401782d`; the v, the commit and any suffix are optional.

        Raises:
            MalformedVersion: The text is not a version.
        """
        match = _VERSION.fullmatch(text) if len(text) <= _MOST else None
        if match is None:
            raise MalformedVersion(SubmissionReason.MALFORMED_VERSION, text=text[:60])
        return cls(int(match[1]), int(match[2]), int(match[3]), match[4] or "")

    @property
    def number(self) -> tuple[int, int, int]:
        """The version without its commit."""
        return self[:3]

    @property
    def short(self) -> str:
        """`0.8.37`."""
        return f"{self.major}.{self.minor}.{self.patch}"

    @property
    def long(self) -> str:
        """`0.8.37+commit.f401782d`, or without the commit if it is unknown."""
        return f"{self.short}+commit.{self.commit}" if self.commit else self.short

    def is_built_as(self, other: "CompilerVersion") -> bool:
        """Return whether it may be the same build; if either has no commit, the numbers decide."""
        if self.number != other.number:
            return False
        shorter = min(len(self.commit), len(other.commit))
        return self.commit[:shorter] == other.commit[:shorter]

    def evm_versions(self) -> list[str]:
        """Return the EVM versions that it supports, its default first."""
        return [name for name, since in reversed(EVM_VERSIONS) if self.number >= since]


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
