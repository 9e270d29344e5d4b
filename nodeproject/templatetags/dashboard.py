"""The tag that gives the admin's first page its figures, whatever theme draws it."""

from typing import TYPE_CHECKING

from django import template

if TYPE_CHECKING:
    from chaindb.overview import Overview

register = template.Library()


@register.simple_tag
def overviews() -> "list[Overview]":
    """Return the state of each chain that has a genesis."""
    # Django imports tags while the theme is being imported, before any admin can be.
    from cchain_app.admin import dashboard as cchain
    from platform_app.admin import dashboard as platform

    return [found for found in (platform.overview(), cchain.overview()) if found is not None]
