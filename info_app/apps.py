"""Info as a Django app."""

from django.apps import AppConfig


class InfoAppConfig(AppConfig):
    """Name and label of the app."""

    name = "info_app"
    verbose_name = "Info"
