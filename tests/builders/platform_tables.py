"""All rows of the P-Chain, to compare and restore them; nodes with the same blocks share most of them.

Pending transactions, connected peers, and observed uptimes differ: each node has its own.
"""

from collections.abc import Mapping
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Model

OWN = frozenset(
    {
        "mempooltx", "mempoolinput", "droppedtx", "validatoruptime", "connectednode",
        "uptimetracking", "keystoreuser", "keystorekey",
    }
)  # fmt: skip
"""Models whose rows each node has for itself."""

Rows = Mapping[type[Model], list[dict[str, Any]]]


def rows() -> Rows:
    """Return all rows ordered by key."""
    return {model: _read(model) for model in _models()}


def alike() -> Rows:
    """Return the rows that are equal on all nodes with the same blocks."""
    return {model: _read(model) for model in _models() if model._meta.model_name not in OWN}


def put_back(found: Rows) -> None:
    """Replace all rows with these, which restores the earlier chain."""
    with connection.cursor() as cursor:
        for model in _models():
            cursor.execute(f"DELETE FROM {model._meta.db_table}")
    for model, values in found.items():
        model._default_manager.bulk_create([model(**value) for value in values])


def _models() -> list[type[Model]]:
    found = [
        *apps.get_app_config("platform_app").get_models(),
        *apps.get_app_config("shared_app").get_models(),
    ]
    return [model for model in found if not model._meta.proxy]


def _read(model: type[Model]) -> list[dict[str, Any]]:
    return list(model._default_manager.order_by("pk").values())
