"""All rows of both chains and of their outer blocks, to compare and to restore."""

from collections.abc import Collection
from typing import Any

from django.apps import apps
from django.db import connection, transaction
from django.db.models import Model

from tests.builders import platform_tables

APPS = ("platform_app", "cchain_app", "network_app")
REPORTS = frozenset({"peer", "networkstatus", "chainsync"})
"""Models of the network process's reports; blocks do not write them."""
OWN = platform_tables.OWN | {"pooltransaction", "fetchedblock", "trienodechange", "triehistory"}
"""Models with a node's own rows, which differ between nodes with the same blocks."""
NUMBERED = frozenset({"outerblock"})
"""Models whose rows are numbered in the order in which this node wrote them. The numbers are left out."""

Table = list[tuple[Any, ...]]
Tables = dict[str, Table]


def everything() -> Tables:
    """Return all rows of blocks, and those that a node derives from them."""
    return _read(frozenset())


def alike() -> Tables:
    """Return the rows that are equal on all nodes with the same blocks."""
    return _read(OWN)


def put_back(tables: Tables) -> None:
    """Delete all rows and write the given ones."""
    with transaction.atomic(), connection.cursor() as cursor:
        for name in tables:
            cursor.execute(f"DELETE FROM {name}")
        for model in _models():
            rows = tables.get(model._meta.db_table)
            if rows:
                marks = ", ".join(["%s"] * len(rows[0]))
                into = f"INSERT INTO {model._meta.db_table} ({_columns(model)})"
                cursor.executemany(f"{into} VALUES ({marks})", rows)


def _read(without: Collection[str]) -> Tables:
    found: Tables = {}
    with connection.cursor() as cursor:
        for model in _models():
            meta = model._meta
            if meta.model_name in {*REPORTS, *without}:
                continue
            cursor.execute(f"SELECT {_columns(model)} FROM {meta.db_table}")
            rows = [tuple(map(_plain, row)) for row in cursor.fetchall()]
            found[meta.db_table] = sorted(rows, key=repr)
    return found


def _models() -> list[type[Model]]:
    found = (model for label in APPS for model in apps.get_app_config(label).get_models())
    return [item for item in found if item._meta.managed and not item._meta.proxy]


def _columns(model: type[Model]) -> str:
    is_numbered = model._meta.model_name in NUMBERED
    fields = [
        concrete_field
        for concrete_field in model._meta.concrete_fields
        if not (is_numbered and concrete_field.primary_key)
    ]
    return ", ".join(connection.ops.quote_name(field.column) for field in fields)


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
