"""What Django's own pages say while a server is away: 503 and which one, instead of an error of ours."""

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.views import defaults

from chaindb import servers


def server_error(request: HttpRequest) -> HttpResponse:
    """Show that something failed; of a server that is away by name."""
    words = servers.away(sys.exc_info()[1])
    if not words:
        return defaults.server_error(request)
    return HttpResponse(
        f"{words}\n",
        status=HTTPStatus.SERVICE_UNAVAILABLE,
        content_type="text/plain; charset=utf-8",
        headers={"Retry-After": "1"},
    )
