"""The project as an app, for its commands and system checks."""

from importlib import import_module

from django.apps import AppConfig
from typing_extensions import override


class NodeConfig(AppConfig):
    """Name and label of the project's own commands."""

    name = "nodeproject"
    verbose_name = "Node"

    @override
    def ready(self) -> None:
        import_module("nodeproject.checks")
