"""What all tests share: nothing of a real node's data, and settings that a test names itself."""

import gc
import signal
from dataclasses import replace
from typing import Any

import pytest
from django.core.signals import setting_changed
from django.dispatch import receiver
from hypothesis import HealthCheck, settings

from tests.searching import QUICK, THOROUGH

# A run of the tests is a look at new cases; `make search` is a search. How long a case takes, or is drawn,
# says something of the machine.
PATIENT: Any = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("quick", max_examples=QUICK, **PATIENT)
settings.register_profile("thorough", max_examples=THOROUGH, **PATIENT)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers of this project known, and hear Ctrl-C.

    What a shell starts in the background is deaf to it, and so would be the nodes that tests start and end.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "node_settings(**values): settings of the node for one test, as in NodeSettings"
    )


@receiver(setting_changed)
def follow_settings(*, setting: str, value: Any, **_: object) -> None:
    """Let this process be a node with the settings that a test has just changed."""
    from tests.builders.process import begin_anew

    if setting == "NODE":
        begin_anew(value)


def pytest_collection_finish() -> None:
    """Spare the collector thousands of tests that stay until the end: it takes a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture
def node_settings(request: pytest.FixtureRequest, settings: Any) -> Any:
    """The node's settings with what the test's marks change, of a node that has just begun."""
    changed: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("node_settings"))):
        changed |= mark.kwargs
    settings.NODE = replace(settings.NODE, **changed)
    return settings.NODE
