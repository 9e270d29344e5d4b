"""The small interface that these tests call."""

from tests.builders.interface import calls, clock, dispatcher, registry, would_block

__all__ = ["calls", "clock", "dispatcher", "registry", "would_block"]
