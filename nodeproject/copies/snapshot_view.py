"""The admin's page "Snapshots": the list, and for superusers saving, restoring and deleting.

Restoring, overwriting and deleting need a confirmation. Each action is in the admin's log, which restoring does not
change.
"""

from typing import Any, Final

from django.conf import settings
from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION, CHANGE, DELETION
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString
from django.views.decorators.http import require_http_methods

from adminkit import display, formats
from adminkit.actions import log_action
from chaindb.snapshots.port import SnapshotRefused
from nodeproject.apps import this_node
from nodeproject.copies.snapshot_manifest import Head
from nodeproject.copies.snapshots import DamagedSnapshot, NamedSnapshot
from primitives.networks import LOCAL

_ASKED: Final = {
    "restore": (
        "Restore this snapshot?",
        "All chains, the keystore, the clock and the pools are restored. Everything done since is lost "
        "unless another snapshot has it.",
        "Restore",
    ),
    "delete": ("Delete this snapshot?", "The node itself stays as it is.", "Delete"),
    "save": (
        "Overwrite this snapshot?",
        "A snapshot of this name exists: it will be overwritten with the current state.",
        "Overwrite",
    ),
}
"""Question, consequence, and the label of the button."""


def is_shown(request: HttpRequest) -> bool:
    """Return whether the menu shows the page: on a local network, to staff."""
    return settings.NODE.common.network_id == LOCAL and bool(
        getattr(request.user, "is_staff", False)
    )


@require_http_methods(["GET", "POST"])
def snapshots(request: HttpRequest) -> HttpResponse:
    """Show all snapshots, or perform a superuser's action on one.

    Raises:
        Http404: The network is not the local one.
        PermissionDenied: The user of an action is not a superuser.
    """
    if settings.NODE.common.network_id != LOCAL:
        raise Http404
    if request.method == "POST":
        return _act(request)
    found = this_node().snapshots.all()
    context = {
        **admin.site.each_context(request),
        "title": "Snapshots",
        "may_act": _may_act(request),
        "snapshots": [_shown(item) for item in found],
    }
    return TemplateResponse(request, "admin/snapshots.html", context)


def _may_act(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_active and request.user.is_superuser


def _act(request: HttpRequest) -> HttpResponse:
    if not _may_act(request):
        raise PermissionDenied
    action, name = request.POST.get("action", ""), request.POST.get("name", "").strip()
    known = {
        snapshot.name if isinstance(snapshot, DamagedSnapshot) else snapshot.manifest.name: snapshot
        for snapshot in this_node().snapshots.all()
    }
    is_confirmed = request.POST.get("confirmed") == "yes"
    if name in known and action in _ASKED and not is_confirmed:
        question, consequence, button = _ASKED[action]
        context = {
            **admin.site.each_context(request),
            "title": "Snapshots",
            "question": question,
            "snapshot": _shown(known[name]),
            "consequence": consequence,
            "button": button,
            "action": action,
        }
        return TemplateResponse(request, "admin/snapshot_confirm.html", context)
    try:
        _do(request, action, name, replace=is_confirmed)
    except SnapshotRefused as error:
        words = str(error)
        messages.error(request, f"{words[0].upper()}{words[1:]}.")
    return HttpResponseRedirect(reverse("admin_snapshots"))


def _do(request: HttpRequest, action: str, name: str, *, replace: bool) -> None:
    own = this_node().snapshots
    if action == "save":
        saved = own.save(name, replace=replace)
        log_action(request, ADDITION, f"snapshot {name}", "Saved as a snapshot.", key=name)
        messages.success(request, f"Saved {name}. It has {_heads(saved)}.")
    elif action == "restore":
        snapshot, behind = own.restore(name)
        log_action(request, CHANGE, f"snapshot {name}", "Restored the snapshot.", key=name)
        messages.success(
            request,
            f"Restored {name}: the node has its state of that time, {_heads(snapshot)}.",
        )
        if behind:
            numbers = ", ".join(map(str, behind))
            messages.warning(request, f"Processes that have not caught up yet: {numbers}.")
    elif action == "delete":
        own.delete(name)
        log_action(request, DELETION, f"snapshot {name}", "Deleted the snapshot.", key=name)
        messages.success(request, f"Deleted {name}.")


def _heads(snapshot: NamedSnapshot) -> str:
    """Return the heights of the chains in a snapshot as text."""
    manifest = snapshot.manifest
    cchain = "" if manifest.cchain is None else f"C-Chain block {manifest.cchain.height:,} and "
    subnets = len(manifest.chains)
    more = f", with {subnets} chain{'' if subnets == 1 else 's'} of subnets" if subnets else ""
    return f"{cchain}P-Chain block {manifest.pchain.height:,}{more}"


def _shown(snapshot: NamedSnapshot | DamagedSnapshot) -> dict[str, Any]:
    """Return the fields of a snapshot for the page."""
    if isinstance(snapshot, DamagedSnapshot):
        return {"name": snapshot.name, "unreadable": snapshot.reason}
    manifest = snapshot.manifest
    return {
        "name": manifest.name,
        "saved": display.moment(manifest.saved_at),
        "cchain": _place(manifest.cchain),
        "pchain": _place(manifest.pchain),
        "clock": f"+{formats.format_age(manifest.clock_offset)}"
        if manifest.clock_offset
        else "0 s",
        "clock_title": f"{manifest.clock_offset:,} s ahead of wall time",
        "size": snapshot.size,
    }


def _place(head: Head | None) -> SafeString:
    if head is None:
        return display.NOTHING
    return display.side_by_side(f"{head.height:,}", display.short(head.id))
