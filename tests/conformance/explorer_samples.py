"""The contracts to verify (tests/vectors/explorer; its README says what each field means), with addresses filled in."""

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
    """A contract to verify, whose steps are deployed at some addresses."""

    name: str
    addresses: Mapping[str, str]
    """By the step's name, 40 digits."""

    @cached_property
    def fields(self) -> dict[str, Any]:
        """What the file says, with the addresses in it."""
        text = (VECTORS / f"samples/{self.name}.json").read_text()
        for step, digits in self.addresses.items():
            text = text.replace(f"{{{{{step}}}}}", digits)
        found: dict[str, Any] = json.loads(text)
        return found

    @property
    def steps(self) -> list[dict[str, Any]]:
        """What is deployed, in this order."""
        steps: list[dict[str, Any]] = self.fields["steps"]
        return steps

    def init_code(self, step: str) -> bytes:
        """Return what a step is deployed with."""
        (found,) = (one["data"] for one in self.steps if one["name"] == step)
        return bytes.fromhex(found[2:])


def sample(name: str) -> Sample:
    """Return a sample whose steps are at addresses that are as good as any."""
    plain = Sample(name, {})
    return Sample(name, {one["name"]: f"{0xA0 + at:040x}" for at, one in enumerate(plain.steps)})
