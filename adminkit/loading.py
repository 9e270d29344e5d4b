"""Loading the admin's pages, which is done with the URLs and not at the start."""

from importlib import import_module

from django.apps import apps
from django.utils.module_loading import module_has_submodule


def load_admins() -> None:
    """Import the admin of each app.

    Not by Django's `autodiscover`: where one import fails it takes back what the app has registered while the app's
    modules stay, so that the next attempt goes well and leaves those pages out.

    Raises:
        Exception: What an import raises; after a failure that it was not whole, too.
    """
    for config in apps.get_app_configs():
        if module_has_submodule(config.module, "admin"):
            import_module(f"{config.name}.admin")
