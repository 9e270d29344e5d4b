"""Celery tasks of the network: each calls a service and returns its result."""

import logging

from celery import shared_task

from chaindb import clock
from network_app import selectors, services
from network_app.apps import node_network
from platform_app.apps import platform_chain
from platform_app.services import uptime
from primitives.networks import title

_log = logging.getLogger(__name__)


@shared_task(name="network_app.track_uptime")
def track_uptime() -> dict[str, int]:
    """Add the current connections to the validators' uptime.

    While the network process has stopped, connections are not observed and no validator counts as offline.
    The same holds for a network of a single node, whichever nodes connect to it.
    """
    reported = selectors.status()
    if (
        reported is None
        or not selectors.is_fresh(reported)
        or not selectors.in_network(platform_chain())
    ):
        return {"connected": 0}
    connected = selectors.connected_ids()
    subnets = node_network().joined_subnets()
    uptime.observe(platform_chain(), connected, clock.now(), subnets)
    return {"connected": len(connected)}


@shared_task(name="network_app.measure_bootstrap")
def measure_bootstrap() -> dict[str, float]:
    """Measure the rate at which the chains approach the frontier, and log the time left."""
    rates: dict[str, float] = {}
    for row in services.measure(platform_chain().db):
        rates[row.chain] = row.blocks_per_second or 0.0
        if row.waiting is not None:
            _log.info("%s is waiting: %s", title(row.chain), row.waiting)
            continue
        _log.info(
            "%s: %s (%d %%)%s", title(row.chain), row.progress_text, row.percent, _rate_text(row)
        )
    return rates


@shared_task(name="network_app.prune_peers")
def prune_peers() -> dict[str, int]:
    """Delete nodes that have been gone for long."""
    return {"forgotten": services.prune(platform_chain().db)}


def _rate_text(row: selectors.Sync) -> str:
    """Return rate and time left as text, as far as they were measured."""
    if row.blocks_per_second is None:
        return ""
    rate = f", {row.blocks_per_second:,.1f} blocks/s"
    return rate if row.seconds_left is None else f"{rate}, {row.seconds_left:,.0f} s left"
