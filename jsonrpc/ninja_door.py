"""The Django door: the same gate and dispatcher behind a plain view, for django-ninja's routes.

The body is never parsed by ninja, which would answer in its own shape. Runs in a thread.
"""

from asgiref.sync import async_to_sync
from django.http import HttpRequest, HttpResponse

from jsonrpc.envelope import Body
from jsonrpc.gate import Head, HttpConnection, Reply
from jsonrpc.http import Endpoint


def respond(request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
    """Answer a request as the raw door does, byte for byte."""
    head = read_head(request)
    reply = _reply(request, endpoint, head)
    endpoint.replies.count(head.method, reply.status)
    return to_response(reply)


def _reply(request: HttpRequest, endpoint: Endpoint, head: Head) -> Reply:
    gate = endpoint.gate
    reply = gate.screen(head)
    if reply is not None:
        return reply
    # Not `request.body`: Django's own limit would answer with a page of its own.
    text = request.read(gate.config.max_body + 1)
    if len(text) > gate.config.max_body:
        return gate.too_large(head)
    body = Body(text)
    calls = endpoint.dispatcher.count(body) if endpoint.throttle is not None else 0
    wait = endpoint.charge_now(head, calls)
    if wait is None:
        wait = async_to_sync(endpoint.charge)(head, calls)
    if wait:
        return endpoint.limited(head, body, wait)
    return endpoint.reply(head, endpoint.dispatcher.answer(body, HttpConnection(gate, head)))


def read_head(request: HttpRequest) -> Head:
    """Return the head of a request as the gate reads it."""
    headers = {
        name.lower().encode("latin-1"): value.encode("latin-1")
        for name, value in request.headers.items()
    }
    meta = request.META
    return Head(
        request.method or "", headers, bool(meta.get("QUERY_STRING")), meta.get("REMOTE_ADDR", "")
    )


def to_response(reply: Reply) -> HttpResponse:
    """Return a reply as Django sends it: with the reply's own headers only."""
    response = HttpResponse(reply.body, status=reply.status)
    del response.headers["Content-Type"]
    for name, value in reply.headers:
        response.headers[name.decode("latin-1")] = value.decode("latin-1")
    return response
