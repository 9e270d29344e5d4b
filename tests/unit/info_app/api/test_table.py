"""The table of `info.*`."""

from pathlib import Path

import pytest

from info_app.api import NoIdentity, OwnNode, methods, to_error_object
from platform_app.api.answers import CachedAnswers
from platform_app.chain import NoPlatformGenesis
from platform_app.memory.answers import AnswerMemory
from primitives.node_identity import IdentityFiles

INFO = methods(
    OwnNode(IdentityFiles.below(Path("/nowhere")), {}), CachedAnswers(AnswerMemory(lambda: None))
)

SPECIFIED = [
    "getNodeID", "getNodeVersion", "getNodeIP", "getNetworkID", "getNetworkName", "isBootstrapped",
    "peers", "getBlockchainID", "uptime", "getTxFee",
]  # fmt: skip
NEEDED = ["getVMs", "upgrades", "acps"]


@pytest.mark.parametrize("name", SPECIFIED + NEEDED)
def test_the_method_exists(name: str) -> None:
    assert f"info.{name}" in INFO


def test_registry_has_only_the_specified_methods() -> None:
    assert len(INFO) == len(SPECIFIED + NEEDED)


def test_docstrings_start_with_the_method_name() -> None:
    for description in INFO.describe():
        assert description.summary.startswith(f"{description.name}:"), description.name


def test_nothing_is_required_by_the_form_of_a_call() -> None:
    assert [param.name for param in INFO.describe() if param.required] == []


def test_methods_answered_from_memory_are_hot() -> None:
    assert {method.name for method in INFO if method.hot} == {
        "info.getNodeID", "info.getNetworkID", "info.getNetworkName", "info.getTxFee",
        "info.getVMs", "info.upgrades", "info.getNodeVersion", "info.getNodeIP", "info.getBlockchainID",
        "info.isBootstrapped",
    }  # fmt: skip


@pytest.mark.parametrize("error", [NoIdentity(), NoPlatformGenesis("no chain yet")])
def test_expected_error_has_its_message(error: Exception) -> None:
    shown = to_error_object(error)

    assert shown is not None
    assert (shown.code, shown.message) == (-32000, str(error))


def test_unexpected_error_has_no_error_object() -> None:
    assert to_error_object(ZeroDivisionError("an inside")) is None
