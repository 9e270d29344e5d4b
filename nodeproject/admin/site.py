"""The admin site: its titles, and the theme for the admins of Django and, where its tables are, of Celery beat.

The content of its first page is in the chains' `admin.dashboard`, its layout in
nodeproject/templates/admin/index.html.
"""

from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.conf import settings
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm

from adminkit.changelist import UnknownFilterMessages
from nodeproject.web.middleware import chosen_title
from primitives.networks import MAINNET, name_of
from primitives.product import NAME

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    ThemedModelAdmin = ModelAdmin[Any]
else:
    from unfold.admin import ModelAdmin as ThemedModelAdmin

admin.site.site_title = admin.site.site_header = NAME
admin.site.index_title = "Overview"


def network_label(_request: HttpRequest) -> list[str]:
    """Return the label at the top of every page, the network's name and the chosen chain, and the label's style."""
    network = settings.NODE.common.network_id
    label = ", ".join(filter(None, (name_of(network), chosen_title())))
    return [label, "danger" if network == MAINNET else "info"]


class ThemedUserAdmin(UnknownFilterMessages, UserAdmin, ThemedModelAdmin):  # type: ignore[type-arg]  # generic only in the stubs
    """Users of the admin, with the theme's forms."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


class ThemedGroupAdmin(UnknownFilterMessages, GroupAdmin, ThemedModelAdmin):
    """Groups of users."""


_THEMED: dict[type[Any], type[Any]] = {
    User: ThemedUserAdmin,
    Group: ThemedGroupAdmin,
}
if apps.is_installed("django_celery_beat"):
    from nodeproject.admin.schedule import THEMED

    _THEMED |= THEMED

for _model, _admin in _THEMED.items():
    admin.site.unregister(_model)
    admin.site.register(_model, _admin)
