"""Metrics of the network process, if it runs."""

from typing import Any

import pytest

from cchain_app.apps import evm_chains
from health_app.metrics import network
from platform_app.apps import platform_chain
from tests.builders.node_settings import updated

pytestmark = pytest.mark.django_db


def values() -> dict[str, Any]:
    return {
        metric.name: metric.samples[0].value
        for metric in network.of_network(platform_chain(), evm_chains())
    }


def test_a_node_without_network_has_no_process_to_miss(node_settings: Any, settings: Any) -> None:
    assert values() == {"svc_network_process_up": 0, "svc_network_peers": 0}

    settings.NODE = updated(settings.NODE, network=False)
    assert values() == {"svc_network_peers": 0}
