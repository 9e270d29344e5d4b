"""The tag that gives the admin's first page its figures, whatever theme draws it."""

from typing import TYPE_CHECKING

from django import template

if TYPE_CHECKING:
    from cchain_app.admin.dashboard import Overview

register = template.Library()


@register.simple_tag
def chain_overview() -> "Overview | None":
    """Return the state of the C-Chain, or None before its genesis."""
    # Django imports tags while the theme is being imported, before any admin can be.
    from cchain_app.admin import dashboard

    return dashboard.overview()
