"""Puts the explorer together with what differs by its settings."""

from pathlib import Path

from explorer_app.services.compiling import Limits, NpmCompilers
from explorer_app.site import Explorer


def compose(site: Explorer) -> Explorer:
    """Give an explorer its compilers, and return it."""
    settings = site.settings
    directory = Path(settings.solc_directory) if settings.solc_directory else None
    site.compilers = NpmCompilers(directory, Limits(settings.solc_seconds, settings.solc_memory))
    return site
