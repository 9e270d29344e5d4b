"""Contracts to verify (tests/vectors/explorer, whose README describes the fields), with addresses."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parents[1] / "vectors/explorer"
NAMES = ("comment", "counter", "linked", "oldtoken", "proxy", "vault")


@dataclass(frozen=True)
class Sample:
    """A contract to verify whose steps are deployed at given addresses."""

    name: str
    addresses: Mapping[str, str]
    """Addresses by step name, as 40 digits."""

    @cached_property
    def fields(self) -> dict[str, Any]:
        """The contents of the file with the addresses inserted."""
        text = (VECTORS / f"samples/{self.name}.json").read_text()
        for step, digits in self.addresses.items():
            text = text.replace(f"{{{{{step}}}}}", digits)
        found: dict[str, Any] = json.loads(text)
        return found

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The deployments in order."""
        steps: list[dict[str, Any]] = self.fields["steps"]
        return steps

    def init_code(self, step: str) -> bytes:
        """Return the init code of a step."""
        (found,) = (item["data"] for item in self.steps if item["name"] == step)
        return bytes.fromhex(found[2:])


def sample(name: str) -> Sample:
    """Return a sample whose steps are at arbitrary addresses."""
    plain = Sample(name, {})
    return Sample(name, {one["name"]: f"{0xA0 + at:040x}" for at, one in enumerate(plain.steps)})
