"""Versions of Solidity's compiler as clients write them, and what differs between them. Pure."""

import re
from typing import Final, NamedTuple, Self

from explorer_app.verification.errors import MalformedVersion

_VERSION: Final = re.compile(
    r"v?(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:-[0-9A-Za-z.]+)?(?:\+commit\.([0-9a-f]{6,40}))?(?:\.[A-Za-z0-9+_.]+)?"
)
_MOST: Final = 80
"""Characters of a version."""

EVM_VERSIONS: Final = (
    ("byzantium", (0, 4, 21)), ("constantinople", (0, 5, 0)), ("petersburg", (0, 5, 5)), ("istanbul", (0, 5, 14)),
    ("berlin", (0, 8, 5)), ("london", (0, 8, 7)), ("paris", (0, 8, 18)), ("shanghai", (0, 8, 20)),
    ("cancun", (0, 8, 25)), ("prague", (0, 8, 30)), ("osaka", (0, 8, 31)),
)  # fmt: skip
"""Rules that a compiler can compile for, and from which of its versions on they are its default, or known."""


class Version(NamedTuple):
    """A compiler's version."""

    major: int
    minor: int
    patch: int
    commit: str = ""
    """Of the compiler's repository; empty where nobody says."""

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read `v0.8.37+commit.f401782d`, with or without the v, the commit and what stands behind it.

        Raises:
            MalformedVersion: The text is no version.
        """
        found = _VERSION.fullmatch(text) if len(text) <= _MOST else None
        if found is None:
            raise MalformedVersion(text)
        return cls(int(found[1]), int(found[2]), int(found[3]), found[4] or "")

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
        """`0.8.37+commit.f401782d`, as far as the commit is known."""
        return f"{self.short}+commit.{self.commit}" if self.commit else self.short

    def is_built_as(self, other: "Version") -> bool:
        """Say whether it may be the same build; where one has no commit the number decides."""
        if self.number != other.number:
            return False
        shorter = min(len(self.commit), len(other.commit))
        return self.commit[:shorter] == other.commit[:shorter]

    def evm_versions(self) -> list[str]:
        """Return the rules that it knows, its own default first."""
        return [name for name, since in reversed(EVM_VERSIONS) if self.number >= since]
