"""The theme for the admins of Celery beat, which has its schedule in the database (`nodeproject.settings.beat_tables`)."""

from typing import TYPE_CHECKING, Any, Final

from django.contrib import admin
from django.urls import get_script_prefix, set_script_prefix
from django_celery_beat import admin as beat_admin
from django_celery_beat import models as beat
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from adminkit.changelist import UnknownFilterMessages

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

    ThemedModelAdmin = ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:
    from unfold.admin import ModelAdmin as ThemedModelAdmin
    from unfold.admin import TabularInline


class TaskSelect(UnfoldAdminSelectWidget, beat_admin.TaskSelectWidget):  # type: ignore[misc]  # untyped
    """The selection of a registered task, rendered by the theme."""

    def tasks_as_choices(self) -> Any:
        """Return the tasks. Celery sets up Django before it looks for them, which resets the script prefix."""
        import nodeproject.celery  # noqa: F401  # else a web process that has sent no task lists none

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


THEMED: Final[dict[type[Any], type[Any]]] = {
    beat.PeriodicTask: _themed(beat_admin.PeriodicTaskAdmin, form=ThemedTaskForm),
    beat.IntervalSchedule: _themed(beat_admin.IntervalScheduleAdmin, inlines=[TaskInline]),
    beat.SolarSchedule: _themed(beat_admin.SolarScheduleAdmin, inlines=[TaskInline]),
    beat.CrontabSchedule: _themed(beat_admin.CrontabScheduleAdmin, inlines=[TaskInline]),
    beat.ClockedSchedule: _themed(beat_admin.ClockedScheduleAdmin, inlines=[TaskInline]),
}
"""The admin of each model."""
