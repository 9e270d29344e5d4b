"""Health as a Django app."""

from django.apps import AppConfig


class HealthAppConfig(AppConfig):
    """Name and label of the app."""

    name = "health_app"
    verbose_name = "Health"
