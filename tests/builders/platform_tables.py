"""All rows of the P-Chain, to compare and to put back: what two nodes with the same blocks have alike.

Not alike are what waits, who is connected, and how long others were online: each node sees its own.
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
"""Models whose rows are a node's own."""

Rows = Mapping[type[Model], list[dict[str, Any]]]


def rows() -> Rows:
    """Return all rows in the order of their keys."""
    return {model: _read(model) for model in _models()}


def alike() -> Rows:
    """Return the rows that every node has that has the same blocks."""
    return {model: _read(model) for model in _models() if model._meta.model_name not in OWN}


def put_back(found: Rows) -> None:
    """Delete all rows and write these: the chain is where it was."""
    with connection.cursor() as cursor:
        for model in _models():
            cursor.execute(f"DELETE FROM {model._meta.db_table}")
    for model, values in found.items():
        model._default_manager.bulk_create([model(**one) for one in values])


def _models() -> list[type[Model]]:
    found = apps.get_app_config("platform_app").get_models()
    return [model for model in found if not model._meta.proxy]


def _read(model: type[Model]) -> list[dict[str, Any]]:
    return list(model._default_manager.order_by("pk").values())
