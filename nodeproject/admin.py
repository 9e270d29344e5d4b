"""The admin's site: its titles, and the theme on the admins of Django and of Celery's beat.

What its first page shows is in `cchain_app.admin.dashboard`, how in templates/admin/index.html.
"""

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group, User
from django_celery_beat import admin as beat_admin
from django_celery_beat import models as beat
from unfold.forms import AdminPasswordChangeForm, UserChangeForm, UserCreationForm
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    ThemedModelAdmin = ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    from unfold.admin import ModelAdmin as ThemedModelAdmin
    from unfold.admin import TabularInline

admin.site.site_title = admin.site.site_header = "Node"
admin.site.index_title = "Overview"


class ThemedUserAdmin(UserAdmin, ThemedModelAdmin):  # type: ignore[type-arg]  # generic only in the stubs
    """People who may open the admin, with the theme's forms."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm


class ThemedGroupAdmin(GroupAdmin, ThemedModelAdmin):
    """Groups of people."""


class TaskSelect(UnfoldAdminSelectWidget, beat_admin.TaskSelectWidget):
    """The choice of a registered task, drawn by the theme."""


class ThemedTaskForm(beat_admin.PeriodicTaskForm):
    """A scheduled task's form with the theme's fields for what the model does not have."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["regtask"].widget = TaskSelect()
        self.fields["task"].widget = UnfoldAdminTextInputWidget()


class ThemedTaskAdmin(beat_admin.PeriodicTaskAdmin, ThemedModelAdmin):
    """What runs by the clock."""

    form = ThemedTaskForm


class TaskInline(beat_admin.PeriodicTaskInline, TabularInline):
    """The tasks of a schedule."""


class ThemedScheduleAdmin(beat_admin.ScheduleAdmin, ThemedModelAdmin):
    """Intervals and sun times."""

    inlines = [TaskInline]


class ThemedCrontabAdmin(beat_admin.CrontabScheduleAdmin, ThemedModelAdmin):
    """Schedules in cron's form."""

    inlines = [TaskInline]


class ThemedClockedAdmin(beat_admin.ClockedScheduleAdmin, ThemedModelAdmin):
    """Single points in time."""

    inlines = [TaskInline]


_THEMED: dict[type[Any], type[Any]] = {
    User: ThemedUserAdmin,
    Group: ThemedGroupAdmin,
    beat.PeriodicTask: ThemedTaskAdmin,
    beat.IntervalSchedule: ThemedScheduleAdmin,
    beat.SolarSchedule: ThemedScheduleAdmin,
    beat.CrontabSchedule: ThemedCrontabAdmin,
    beat.ClockedSchedule: ThemedClockedAdmin,
}

for _model, _admin in _THEMED.items():
    admin.site.unregister(_model)
    admin.site.register(_model, _admin)
