"""Common parts of all these APIs: CORS headers, rate limits, reading of bodies, JSON."""

import logging
import time
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any, Concatenate, Final, ParamSpec

import msgspec
from asgiref.sync import async_to_sync
from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.views.decorators.csrf import csrf_exempt

from cchain_app.forking.errors import UpstreamError
from cchain_app.selectors.blocks import NoGenesis
from chaindb.indexing import IndexBehind
from chaindb.unavailable import unavailable
from explorer_app.api import forms
from explorer_app.apps import explorer
from explorer_app.selectors import verified
from explorer_app.selectors.traces import Busy
from explorer_app.selectors.verified import VerificationProgress
from explorer_app.site import Explorer
from jsonrpc.http.replies import read_head, to_response

_METHODS: Final = "GET, POST, OPTIONS"
_FORM_OVERHEAD: Final = 2
"""Percent-encoding triples some characters of a source, and a form has other fields."""

_log: Final = logging.getLogger(__name__)

P = ParamSpec("P")
Answer = Callable[Concatenate[Explorer, HttpRequest, P], HttpResponse]


class BodyTooLarge(Exception):
    """The body is longer than any submission may be."""


# Django's own exceptions; Django would answer each of them with an HTML page.
_MALFORMED: Final = (
    SuspiciousOperation, BadRequest, MultiPartParserError, UnicodeDecodeError, forms.MalformedForm
)  # fmt: skip


def api_view(
    answer: Answer[P],
    limited: Callable[[], HttpResponse],
    away: Callable[[Exception], HttpResponse],
    malformed: Callable[[], HttpResponse],
) -> Callable[..., HttpResponse]:
    """Make a Django view of an answer function, with the CORS and rate limit rules of the EVM chain's interface.

    Args:
        answer: Answers GET and POST, with the explorer of the EVM chain that the URL names, else of the C-Chain.
        limited: Answers if the client exceeds its rate limit, or if too many executions are already running.
        away: Answers before genesis, or if a fork's remote node does not answer; with status 503 while the database
            or a server is unavailable.
        malformed: Answers a request whose parameters or body cannot be read or are too many.
    """

    @wraps(answer)
    def view(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        site = explorer()
        name = kwargs.pop("chain_name", None)
        found = site if name is None else site.find(str(name))
        if found is None:
            return HttpResponse("this node runs no such EVM chain\n", "text/plain", 404)
        site = found
        if not site.evms:
            return HttpResponse("this node does not run the C-Chain\n", "text/plain", 404)
        gate, head = site.rpc().gate, read_head(request)
        if request.method == "OPTIONS":
            return to_response(gate.preflight(head))
        response = _respond(site, request, *args, **kwargs)
        for name, value in gate.origin_headers(head):
            response[name.decode("latin-1")] = value.decode("latin-1")
        return response

    def _respond(
        site: Explorer, request: HttpRequest, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        if request.method not in {"GET", "HEAD", "POST"}:
            return HttpResponse(status=HTTPStatus.METHOD_NOT_ALLOWED, headers={"Allow": _METHODS})
        return limited() if _too_often(site, request) else _answered(site, request, *args, **kwargs)

    def _answered(
        site: Explorer, request: HttpRequest, *args: P.args, **kwargs: P.kwargs
    ) -> HttpResponse:
        try:
            return answer(site, request, *args, **kwargs)
        except (NoGenesis, UpstreamError, IndexBehind) as error:
            return away(error)
        except Busy:
            return limited()
        except _MALFORMED:
            return malformed()
        except Exception as error:
            if not unavailable(error):
                raise
            _log.warning("%s failed", request.path, exc_info=error)
            response = away(error)
            response.status_code = HTTPStatus.SERVICE_UNAVAILABLE
            response["Retry-After"] = "1"
            return response

    exempt: Callable[..., HttpResponse] = csrf_exempt(view)
    return exempt


def client_of(site: Explorer, request: HttpRequest) -> str:
    """Return the address of a client, as the node's rate limits use it."""
    return site.rpc().gate.client(read_head(request))


def read_body(site: Explorer, request: HttpRequest) -> bytes:
    """Return a body; its limit is that of a submission, not Django's.

    Raises:
        BodyTooLarge: The body is longer.
    """
    maximum = body_limit(site.settings.source_limit)
    # Not `request.body`: beyond Django's own limit Django would answer with an HTML page.
    body = request.read(maximum + 1)
    if len(body) > maximum:
        raise BodyTooLarge
    return body


def body_limit(source_limit: int) -> int:
    """Return the size limit of a body for a size limit of sources."""
    return source_limit * _FORM_OVERHEAD


def read_form(site: Explorer, request: HttpRequest) -> dict[str, str]:
    """Return the parameters of a request from the query and the body; those in the body take precedence.

    Unreadable input raises an exception that `api_view` handles.

    Raises:
        BodyTooLarge: The body is longer than any submission may be.
        SubmissionTooLarge: A value, or a whole JSON body, is longer than sources may be.
        TooManyFieldsSent: There are more parameters than Django allows in a form.
    """
    fields = {name: str(value) for name, value in request.GET.items()}
    if request.method != "POST":
        return fields
    if request.content_type == "multipart/form-data":
        return fields | {name: str(value) for name, value in request.POST.items()}
    body, maximum = read_body(site, request), site.settings.source_limit
    is_json = request.content_type == "application/json"
    read = forms.from_json if is_json else forms.from_urlencoded
    return fields | read(body, maximum=maximum)


def json_response(value: Any, status: int = 200) -> HttpResponse:
    """Return a value as JSON."""
    return HttpResponse(msgspec.json.encode(value), "application/json", status)


def _too_often(site: Explorer, request: HttpRequest) -> bool:
    """Charge the client for a request as for a call of the chain's interface; return whether it must wait."""
    endpoint, head = site.rpc(), read_head(request)
    wait = endpoint.charge_now(head, 1)
    return bool(async_to_sync(endpoint.charge)(head, 1) if wait is None else wait)


SECONDS: Final = 10.0
_LOOK: Final = 0.1


def when_over(site: Explorer, key: str) -> VerificationProgress | None:
    """Return a verification when it is over, or its state after `SECONDS`; None if it is unknown.

    Only a few requests may wait, because each occupies one of Django's threads.
    """
    if site.holding.acquire(blocking=False):
        try:
            until = time.monotonic() + SECONDS
            while not verified.is_over(site.evm, key) and time.monotonic() < until:
                time.sleep(_LOOK)
        finally:
            site.holding.release()
    return verified.verification(site.evm, key)
