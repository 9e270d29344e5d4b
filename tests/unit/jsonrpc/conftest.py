"""The small interface that these tests ask."""

from tests.builders.interface import calls, clock, dispatcher, registry, would_block

__all__ = ["calls", "clock", "dispatcher", "registry", "would_block"]
