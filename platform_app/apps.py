"""The P-Chain as a Django app."""

from django.apps import AppConfig


class PlatformAppConfig(AppConfig):
    """Name and label of the app."""

    name = "platform_app"
    verbose_name = "P-Chain"
