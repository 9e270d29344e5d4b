"""Actions on the node from the admin's first page: pause block production, run a health check again.

Actions on a row are in the admin of its model.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from cchain_app.admin import dashboard
from health_app.admin import history
from nodeproject.apps import this_node


@require_http_methods(["GET", "POST"])
def pause_or_resume(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation of pausing or resuming the C-Chain's block production, or do it."""
    return dashboard.ask_for(request, this_node().evm_chain, name)


@require_http_methods(["GET", "POST"])
def run_check(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for confirmation of running a health check again, or do it."""
    return history.ask_to_run(request, this_node().observation.reporter, name)
