"""The explorer as a Django app, and access to the explorer of this process for code that Django or Celery calls."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from explorer_app.site import Explorer


class ExplorerConfig(AppConfig):
    """Name and label of the app, and the explorer of this process."""

    name = "explorer_app"
    verbose_name = "Explorer"

    make: Callable[[], "Explorer"]
    """Returns the explorer, which the first call creates. Set when the process is put together."""


def explorer() -> "Explorer":
    """Return the explorer of this process, for functions that Django or Celery call without passing it."""
    return _config().make()


def use(make: "Callable[[], Explorer]") -> None:
    """Set the function that returns the explorer of this process, always the same one."""
    _config().make = make


def _config() -> ExplorerConfig:
    config = apps.get_app_config(ExplorerConfig.name)
    assert isinstance(config, ExplorerConfig)
    return config
