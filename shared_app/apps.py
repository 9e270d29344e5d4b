"""The Django app of the shared memory between chains."""

from django.apps import AppConfig


class SharedAppConfig(AppConfig):
    """Registers the models of this package."""

    name = "shared_app"
    verbose_name = "Between chains"
