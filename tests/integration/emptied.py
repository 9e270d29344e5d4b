"""Emptying tables after a test that commits.

Django's `flush` empties all hundred tables, and creates content types and permissions again. A test writes to a few
tables, and hardly ever to those two: so only tables with rows are emptied.
"""

from functools import cache

from django.apps import apps
from django.contrib.auth.management import _get_all_permissions
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command
from django.db import connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import TransactionTestCase

MADE_WITH_TABLES = frozenset({ContentType._meta.db_table, Permission._meta.db_table})
"""Tables whose rows Django creates together with the tables."""


def empty_databases(case: TransactionTestCase) -> None:
    """Empty the databases of a test; replaces `TransactionTestCase._fixture_teardown`."""
    for alias in case._databases_names(include_mirrors=False):
        ContentType.objects.clear_cache()
        if permissions_there(alias) == permissions_of_models():
            empty_tables(connections[alias])
        else:
            call_command("flush", verbosity=0, interactive=False, database=alias)


def permissions_there(alias: str) -> set[tuple[str, str, str]]:
    """Return app, model and codename of each permission in a database."""
    found = Permission.objects.using(alias).order_by()
    return set(found.values_list("content_type__app_label", "content_type__model", "codename"))


@cache
def permissions_of_models() -> set[tuple[str, str, str]]:
    """Return app, model and codename of each permission that Django creates with the tables."""
    return {
        (model._meta.app_label, str(model._meta.model_name), codename)
        for model in apps.get_models()
        for codename, _ in _get_all_permissions(model._meta)
    }


def empty_tables(connection: BaseDatabaseWrapper) -> None:
    """Delete all rows except those created with the tables; waits for sessions that still write."""
    names = set(
        connection.introspection.django_table_names(only_existing=True, include_views=False)
    )
    tables = [connection.ops.quote_name(name) for name in sorted(names - MADE_WITH_TABLES)]
    with (
        connection.constraint_checks_disabled(),
        transaction.atomic(connection.alias),
        connection.cursor() as cursor,
    ):
        if connection.vendor == "postgresql":
            cursor.execute(f"LOCK TABLE {', '.join(tables)} IN SHARE ROW EXCLUSIVE MODE")
        cursor.execute("SELECT " + ", ".join(f"EXISTS (SELECT 1 FROM {item})" for item in tables))
        for table, has_rows in zip(tables, cursor.fetchone(), strict=True):
            if has_rows:
                cursor.execute(f"DELETE FROM {table}")
