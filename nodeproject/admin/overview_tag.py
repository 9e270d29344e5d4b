"""The template tag that provides the figures of the admin's first page, for any theme."""

from typing import TYPE_CHECKING

from django import template

if TYPE_CHECKING:
    from adminkit.dashboard import Overview

register = template.Library()


@register.simple_tag
def overviews() -> "list[Overview]":
    """Return the overviews of the node's health, its network if it runs, each chain that has a genesis, and tasks.

    Before the first genesis the list is empty.
    """
    # Imported here because Django imports tags while the theme is being imported, before any admin can be.
    from cchain_app.admin import dashboard as cchain
    from health_app import admin as health
    from network_app.admin import status as network
    from nodeproject.admin import first_page
    from nodeproject.apps import this_node
    from platform_app.admin import dashboard as platform

    chains = [value for value in (platform.overview(), cchain.overview()) if value is not None]
    if not chains:
        return []
    own = health.overview(this_node().observation.reporter)
    return [
        chain
        for chain in (own, network.overview(), *chains, first_page.overview())
        if chain is not None
    ]
