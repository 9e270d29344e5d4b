"""The admin's log entries in the admin, read-only: which user did what, to which object, and when."""

from django.contrib import admin
from django.contrib.admin.models import ADDITION, CHANGE, DELETION, LogEntry
from django.contrib.auth.models import User
from django.db.models import Q
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit import display
from adminkit.read_only import ReadOnlyModelAdmin

_KINDS = {ADDITION: "added", CHANGE: "changed", DELETION: "deleted"}


@admin.register(LogEntry)
class LogEntryAdmin(ReadOnlyModelAdmin):
    """Actions, snapshots and changes of users and schedules made in the admin, the latest first."""

    absent_because = "It does not exist, or was deleted with its user."
    found_by = ""
    list_display = ("when", "who", "object", "what")
    list_select_related = ("user", "content_type")
    ordering = ("-id",)
    search_fields = ("user__username",)
    search_help_text = "User's name, in full"
    fieldsets = ((None, {"fields": ("when", "who", "object", "kind", "what")}),)

    @override
    def read_term(self, text: str) -> str:
        return text.strip()

    @override
    def branches(self, term: str) -> list[Q]:
        # By the primary key alone: with a join the database would examine every entry.
        return [
            Q(user_id=key)
            for key in User.objects.filter(username=term).values_list("pk", flat=True)
        ]

    @admin.display(description="When")
    def when(self, entry: LogEntry) -> SafeString:
        """Return the time of the action."""
        return display.moment(int(entry.action_time.timestamp()))

    @admin.display(description="Who")
    def who(self, entry: LogEntry) -> str:
        """Return the name of the user."""
        return entry.user.get_username()

    @admin.display(description="Object")
    def object(self, entry: LogEntry) -> SafeString | str:
        """Return the object of the action, linked to its page if it may still have one."""
        page = None if entry.is_deletion() else entry.get_admin_url()
        return display.link(entry.object_repr, page) if page else entry.object_repr

    @admin.display(description="Kind")
    def kind(self, entry: LogEntry) -> str:
        """Return the kind of change to the object."""
        return _KINDS.get(entry.action_flag, str(entry.action_flag))

    @admin.display(description="What")
    def what(self, entry: LogEntry) -> str:
        """Return a sentence that describes the action; for a form, the changed fields."""
        return entry.get_change_message() or self.kind(entry).capitalize() + "."
