"""The contents of deploy/ parsed from its files: commands, settings and ports, on every platform."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
COMPILERS = "compilers"
"""The container that runs untrusted input and contains nothing of the node."""


class Container(NamedTuple):
    """One container of the node."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]


def compose() -> dict[str, Any]:
    """Return the compose file."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yml").read_text())
    return found


def composed() -> list[Container]:
    """Return the node's containers in the compose file, except the compilers'."""
    return [
        Container(name, tuple(one["command"]), one["environment"])
        for name, one in compose()["services"].items()
        if one["image"] == "nunatak" and name != COMPILERS
    ]


def manifests() -> list[dict[str, Any]]:
    """Return all objects of the Kubernetes manifests."""
    return [
        item
        for path in sorted((DEPLOY / "kubernetes").glob("*.yaml"))
        for item in yaml.safe_load_all(path.read_text())
    ]


def of_kind(kind: str) -> dict[str, Any]:
    """Return the one manifest of a kind."""
    (found,) = [manifest for manifest in manifests() if manifest["kind"] == kind]
    return found


def pod() -> dict[str, Any]:
    """Return the spec of the node's pod."""
    found: dict[str, Any] = of_kind("StatefulSet")["spec"]["template"]["spec"]
    return found


def in_pod() -> list[Container]:
    """Return the containers of the node's pod except the compilers', init containers first."""
    settings = of_kind("ConfigMap")["data"]
    found = [item for item in all_in_pod() if item["name"] != COMPILERS]
    return [Container(other["name"], tuple(other["command"]), settings) for other in found]


def all_in_pod() -> list[dict[str, Any]]:
    """Return all containers of the node's pod, init containers first."""
    return [*pod()["initContainers"], *pod()["containers"]]


def dockerfile() -> list[tuple[str, str]]:
    """Return the instructions of the Dockerfile with their arguments, one line each."""
    text = re.sub(r"\s*\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return [(word, rest) for word, _, rest in (line.strip().partition(" ") for line in lines)]


def stage(name: str) -> list[tuple[str, str]]:
    """Return the instructions of a stage of the Dockerfile, `FROM` first; the operator's image is the stage `node`."""
    found = dockerfile()
    begins = [place for place, (word, _) in enumerate(found) if word == "FROM"] + [len(found)]
    (place,) = [place for place in begins[:-1] if found[place][1].endswith(f" AS {name}")]
    return found[place : begins[begins.index(place) + 1]]


def image_environment() -> dict[str, str]:
    """Return the variables that the operator's image sets."""
    return environment("node")


def environment(name: str) -> dict[str, str]:
    """Return the variables that a stage sets."""
    (found,) = [rest for word, rest in stage(name) if word == "ENV"]
    return dict(part.split("=", 1) for part in found.split())


def copied() -> Iterator[tuple[str, str]]:
    """Yield source and target of each file that the operator's image copies from the checkout."""
    for word, rest in stage("node"):
        if word == "COPY" and not rest.startswith("--from"):
            *sources, target = rest.split()
            for source in sources:
                yield source, target + Path(source).name if target.endswith("/") else target
