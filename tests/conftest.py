"""What all tests share: nothing of a real node's data, and settings that a test names itself."""

import gc
import signal
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
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
    """Let the chains have the settings that a test has just changed.

    The P-Chain is made anew; the C-Chain, which listeners may hold, stays the same object.
    """
    from django.apps import apps

    from nodeproject import doors
    from platform_app import apps as platform

    if setting != "NODE":
        return
    platform.use(None)
    for door in (doors.platform_rpc, doors.platform, doors.keystore, doors.xchain):
        door.cache_clear()
    cchain: Any = apps.get_app_config("cchain_app")
    if cchain._chain is not None:
        cchain._chain.node = value


def pytest_collection_finish() -> None:
    """Spare the collector thousands of tests that stay until the end: it takes a fifth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000)


@pytest.fixture
def node_settings(request: pytest.FixtureRequest, settings: Any) -> Iterator[Any]:
    """The node's settings with what the test's marks change; forgotten together with all caches."""
    changed: dict[str, Any] = {}
    for mark in reversed(list(request.node.iter_markers("node_settings"))):
        changed |= mark.kwargs
    settings.NODE = replace(settings.NODE, **changed)
    forget_process()
    yield settings.NODE
    forget_process()


def forget_process() -> None:
    """Make this process one that has just begun: nothing of the chain or the settings is known."""
    from django.core.cache import caches

    from cchain_app import apps as cchain
    from network_app import turns
    from nodeproject import doors, identity, observation, plain
    from platform_app import apps as platform

    modules: tuple[ModuleType, ...] = (
        doors, identity, plain, turns,
    )  # fmt: skip
    for module in modules:
        for value in vars(module).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()
    for cached in (observation.reporter, observation.writes):
        cached.cache_clear()
    cchain.use(None)
    platform.use(None)
    for cache in caches.all(initialized_only=True):
        cache.clear()
