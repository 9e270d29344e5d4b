"""The network of nodes as a Django app."""

from django.apps import AppConfig
from typing_extensions import override


class NetworkAppConfig(AppConfig):
    """Name and label of the app; at its start both chains learn whose turn it is."""

    name = "network_app"
    verbose_name = "Network"

    @override
    def ready(self) -> None:
        """Install the rule of turns in this process."""
        from chaindb import turns as asked
        from network_app import turns

        asked.install(turns.may_produce)
