"""What an operator may do to the node from the admin's first page: pause production, run a check again.

What may be done to a row is in the admin of its model.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from cchain_app.admin import production
from health_app.admin import history
from nodeproject.apps import this_node


@require_http_methods(["GET", "POST"])
def pause_or_resume(request: HttpRequest, name: str) -> HttpResponse:
    """Ask whether the C-Chain is to make no more blocks, or to make them again; do it."""
    return production.ask_for(request, this_node().evm_chain, name)


@require_http_methods(["GET", "POST"])
def run_check(request: HttpRequest, name: str) -> HttpResponse:
    """Ask whether a health check is to be run again; do it."""
    return history.ask_to_run(request, this_node().observation.reporter, name)
