"""The C-Chain as a Django app."""

from django.apps import AppConfig


class CChainConfig(AppConfig):
    """Name and label of the app."""

    name = "cchain_app"
    verbose_name = "C-Chain"
