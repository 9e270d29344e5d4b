"""The explorer as a Django app, and the one of this process for those whom nobody can give it."""

from typing import TYPE_CHECKING

from django.apps import AppConfig, apps

if TYPE_CHECKING:
    from explorer_app.site import Explorer


class ExplorerConfig(AppConfig):
    """Name and label of the app, and the explorer of this process."""

    name = "explorer_app"
    verbose_name = "Explorer"

    explorer: "Explorer"
    """Set by who puts the process together."""


def explorer() -> "Explorer":
    """Return the explorer of this process, for where Django or Celery call and nobody passes it on."""
    return _config().explorer


def use(explorer: "Explorer") -> None:
    """Let an explorer be this process' from now on."""
    _config().explorer = explorer


def _config() -> ExplorerConfig:
    config = apps.get_app_config(ExplorerConfig.name)
    assert isinstance(config, ExplorerConfig)
    return config
