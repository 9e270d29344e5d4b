"""The admin site: its titles, and the theme for the admins of Django and of Celery beat.

The content of its first page is in the chains' `admin.dashboard`, its layout in
nodeproject/templates/admin/index.html.
"""

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django.http import HttpRequest
from django.urls import get_script_prefix, set_script_prefix
from django_celery_beat import admin as beat_admin
from django_celery_beat import models as beat
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from adminkit.changelist import UnknownFilterMessages
from nodeproject.web.middleware import chosen_title
from primitives.networks import MAINNET, name_of
from primitives.product import NAME

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    ThemedModelAdmin = ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    from unfold.admin import ModelAdmin as ThemedModelAdmin
    from unfold.admin import TabularInline

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


class TaskSelect(UnfoldAdminSelectWidget, beat_admin.TaskSelectWidget):  # type: ignore[misc]  # untyped
    """The selection of a registered task, rendered by the theme."""

    def tasks_as_choices(self) -> Any:
        """Return the tasks. Celery sets up Django before it looks for them, which resets the script prefix."""
        prefix = get_script_prefix()
        try:
            return super().tasks_as_choices()
        finally:
            set_script_prefix(prefix)


class ThemedTaskForm(beat_admin.PeriodicTaskForm):  # type: ignore[misc]  # untyped
    """A scheduled task's form, with the theme's widgets for the fields that the model lacks."""

    regtask = beat_admin.TaskChoiceField(
        label="Task (registered)", required=False, widget=TaskSelect
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["task"].widget = UnfoldAdminTextInputWidget()


class TaskInline(beat_admin.PeriodicTaskInline, TabularInline):  # type: ignore[misc]  # untyped
    """The tasks of a schedule."""


def _themed(base: type[Any], **attributes: Any) -> type[Any]:
    """Return one of beat's admins, rendered by the theme."""
    return type(
        f"Themed{base.__name__}", (UnknownFilterMessages, base, ThemedModelAdmin), attributes
    )


_THEMED: dict[type[Any], type[Any]] = {
    User: ThemedUserAdmin,
    Group: ThemedGroupAdmin,
    beat.PeriodicTask: _themed(beat_admin.PeriodicTaskAdmin, form=ThemedTaskForm),
    beat.IntervalSchedule: _themed(beat_admin.IntervalScheduleAdmin, inlines=[TaskInline]),
    beat.SolarSchedule: _themed(beat_admin.SolarScheduleAdmin, inlines=[TaskInline]),
    beat.CrontabSchedule: _themed(beat_admin.CrontabScheduleAdmin, inlines=[TaskInline]),
    beat.ClockedSchedule: _themed(beat_admin.ClockedScheduleAdmin, inlines=[TaskInline]),
}

for _model, _admin in _THEMED.items():
    admin.site.unregister(_model)
    admin.site.register(_model, _admin)
