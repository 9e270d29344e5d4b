"""Which chain is meant where both have the same machinery: turns, blocks in the making, pointers."""

from enum import StrEnum


class Chain(StrEnum):
    """The two chains of a node, by the letter of their paths."""

    P = "P"
    C = "C"

    @property
    def group(self) -> str:
        """The channel layer's group of the chain's pointers."""
        return f"{self.lower()}chain.pointers"
