"""Users of the keystore in the admin: names and addresses. Secrets are not even read."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.contrib import admin
from django.db.models import Count, Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import IdentifierAdmin, cached_on_row
from adminkit.terms import IdentifierTerm
from platform_app.admin import display
from platform_app.models import KeystoreKey, KeystoreUser
from primitives.ids import ShortID

MAX_ADDRESSES = 100
"""The number of addresses on a user's page."""


@admin.register(KeystoreUser)
class KeystoreUserAdmin(IdentifierAdmin):
    """Users by name. Salt, verifier and sealed keys stay in the database."""

    list_display = ("display_name", "created", "keys")
    ordering = ("name",)
    search_fields = ("name",)
    search_help_text = "Name"
    fieldsets = (
        (None, {"fields": ("display_name", "created", "keys")}),
        ("Addresses", {"fields": ("addresses",)}),
    )

    @override
    def is_used(self) -> bool:
        return settings.NODE.platform.keystore_users > 0

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        users: QuerySet[Any] = super().get_queryset(request)
        return users.only("name", "created_at")

    @override
    def branches(self, term: IdentifierTerm) -> list[Q]:
        return [Q(name=term.text)]

    @override
    def prepare(self, users: Sequence[Any]) -> None:
        counts: defaultdict[int, int] = defaultdict(int)
        keys = KeystoreKey.objects.filter(user__in=[user.pk for user in users])
        counts.update(keys.order_by("user").values_list("user").annotate(Count("address")))
        for user in users:
            user.key_count = counts[user.pk]

    @admin.display(description="Name")
    def display_name(self, user: KeystoreUser) -> str:
        """Return the name."""
        return user.name

    @admin.display(description="Created")
    def created(self, user: KeystoreUser) -> SafeString:
        """Return when the user was created."""
        return display.moment(user.created_at)

    @admin.display(description="Keys")
    def keys(self, user: Any) -> str:
        """Return the number of keys."""
        return f"{user.key_count:,}"

    @admin.display(description="Addresses")
    @cached_on_row
    def addresses(self, user: KeystoreUser) -> SafeString:
        """Return the addresses of the keys, in the order in which they were added."""
        keys = KeystoreKey.objects.filter(user=user.pk).order_by("id")
        addresses = list(keys.values_list("address", flat=True)[: MAX_ADDRESSES + 1])
        if not addresses:
            return display.NOTHING
        more = len(addresses) > MAX_ADDRESSES
        return display.one_per_line(
            *(
                display.full_address(ShortID(bytes(address)))
                for address in addresses[:MAX_ADDRESSES]
            ),
            *([display.muted(f"The first {MAX_ADDRESSES}.")] if more else []),
        )
