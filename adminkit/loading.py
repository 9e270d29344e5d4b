"""Loading of the admin's pages, together with the URLs instead of at startup."""

from importlib import import_module

from django.apps import apps
from django.utils.module_loading import module_has_submodule


def load_admins() -> None:
    """Import the admin module of each app.

    Django's `autodiscover` is unsuitable: if an import fails it takes back the app's registrations while the
    app's modules stay loaded, so the next attempt succeeds but lacks those pages.

    Raises:
        Exception: The error of an import; after a failure also an error about the incomplete module.
    """
    for config in apps.get_app_configs():
        if module_has_submodule(config.module, "admin"):
            import_module(f"{config.name}.admin")
