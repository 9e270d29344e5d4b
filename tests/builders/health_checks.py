"""The checks of this process, by the settings of now; a test may say since when it has looked."""

import time
from collections.abc import Callable

from health_app.checks import Check, Checks, measure_x_chain
from health_app.result import Finding
from health_app.writing import Writes
from nodeproject.apps import this_node

__all__ = ["measure_x_chain"]

BEGAN = time.time()
"""When it began to look, Unix seconds."""


def _idle() -> tuple[int, float]:
    return 0, 0.0


def checks(router: Callable[[], tuple[int, float]] = _idle, writes: Writes | None = None) -> Checks:
    """Return the checks of this process."""
    node = this_node()
    return Checks(
        node.settings,
        node.evm_chain,
        node.platform_chain,
        lambda: this_node().network.producer.node_id,
        router,
        writes or Writes(),
        BEGAN,
    )


def table(router: Callable[[], tuple[int, float]], writes: Writes) -> tuple[Check, ...]:
    """Return all of them."""
    return checks(router, writes).table()


def measure_c_chain() -> Finding:
    """Measure the C-Chain."""
    return checks().measure_c_chain()


def measure_p_chain() -> Finding:
    """Measure the P-Chain."""
    return checks().measure_p_chain()


def measure_bootstrapped() -> Finding:
    """Measure how far bootstrapping is."""
    return checks().measure_bootstrapped()


def measure_network() -> Finding:
    """Measure what the network's process reports."""
    return checks().measure_network()
