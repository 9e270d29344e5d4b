"""After a test that commits, the tables are in their initial state."""

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.db import connections
from django.test import TransactionTestCase

from chaindb.models import Clock
from tests.integration.emptied import empty_databases, permissions_of_models, permissions_there

pytestmark = pytest.mark.django_db(transaction=True)


class Case(TransactionTestCase):
    """A test case that uses the default database."""

    databases = frozenset({"default"})


def test_emptying_keeps_rows_of_migrations_only() -> None:
    kept = [*Permission.objects.order_by("id").values()]
    assert {item["codename"] for item in kept} > {"view_user", "view_block"}
    user = User.objects.create(username="somebody")
    user.user_permissions.add(Permission.objects.get(codename="view_user"))
    Clock.objects.create(offset=5)

    empty_databases(Case())

    assert not User.objects.exists()
    assert not User.user_permissions.through.objects.exists()
    assert not Clock.objects.exists()
    assert [*Permission.objects.order_by("id").values()] == kept


@pytest.mark.parametrize("model", [Permission, ContentType])
def test_deleted_permissions_are_created_again(
    model: type[Permission] | type[ContentType],
) -> None:
    model.objects.all().delete()
    assert permissions_there("default") == set()

    empty_databases(Case())

    assert permissions_there("default") == permissions_of_models()
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_content_type")
        assert cursor.fetchone()[0] >= len(
            {permissions_of_model[:2] for permissions_of_model in permissions_of_models()}
        )
