"""The checks of this process with the current settings; a test may set their start time."""

import time
from collections.abc import Callable

from health_app.checks import Checks, HealthCheck
from health_app.result import Finding
from health_app.writing import Writes
from nodeproject.apps import this_node

BEGAN = time.time()
"""When the checks started, Unix seconds."""


def _idle() -> tuple[int, float]:
    return 0, 0.0


def checks(router: Callable[[], tuple[int, float]] = _idle, writes: Writes | None = None) -> Checks:
    """Return the checks of this process."""
    node = this_node()
    return Checks(
        node.settings.common,
        node.settings.peers,
        tuple(node.evm_runtimes.values()),
        node.platform_runtime,
        node.avm_runtime,
        lambda: this_node().network.producer.node_id,
        router,
        writes or Writes(),
        began=BEGAN,
    )


def table(router: Callable[[], tuple[int, float]], writes: Writes) -> tuple[HealthCheck, ...]:
    """Return all checks."""
    return checks(router, writes).table()


def measure_c_chain() -> Finding:
    """Measure the C-Chain."""
    return checks().measure_evm(this_node().evm_runtime)


def measure_p_chain() -> Finding:
    """Measure the P-Chain."""
    return checks().measure_p_chain()


def measure_x_chain() -> Finding:
    """Measure the X-Chain."""
    return checks().measure_x_chain()


def measure_bootstrapped() -> Finding:
    """Measure the progress of bootstrapping."""
    return checks().measure_bootstrapped()


def measure_network() -> Finding:
    """Measure the health that the network process reports."""
    return checks().measure_network()
