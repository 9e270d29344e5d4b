"""Configuration for all tests: isolation from real nodes, Hypothesis profiles and the node's settings."""

import gc
import signal
from typing import Any

import pytest
from django.core.signals import setting_changed
from django.dispatch import receiver
from hypothesis import HealthCheck, settings

from tests.searching import QUICK, THOROUGH

# `make test` tries a few new cases of each property; `make search` tries many. There is no deadline, because the
# time that a case takes depends on the machine.
PATIENT: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=QUICK, **PATIENT)
settings.register_profile("thorough", max_examples=THOROUGH, **PATIENT)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers of this project and handle Ctrl-C.

    A shell starts background processes with SIGINT ignored. The nodes that the tests start would inherit that
    and could not be stopped with Ctrl-C.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "node_settings(**values): settings of the node for one test, as in NodeSettings"
    )


@receiver(setting_changed)
def follow_settings(*, setting: str, value: Any, **_: object) -> None:
    """Apply the node settings that a test has just changed to this process."""
    from tests.builders.process import restart_node

    if setting == "NODE":
        restart_node(value)


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection, which would take a fifth of the run time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture
def node_settings(request: pytest.FixtureRequest, settings: Any) -> Any:
    """The settings of a freshly started node, with the values from the test's `node_settings` marks."""
    from tests.builders.node_settings import updated

    changed: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("node_settings"))):
        changed |= mark.kwargs
    settings.NODE = updated(settings.NODE, **changed)
    return settings.NODE
