"""The web server that `runnode` starts: uvicorn, or daphne where NODE_SERVER says so."""

from django.conf import settings

from nodeproject import process

APPLICATION = "nodeproject.asgi:application"


def serve() -> None:
    """Serve HTTP and WebSocket until interrupted."""
    process.raise_descriptors()
    {"uvicorn": _uvicorn, "daphne": _daphne}[settings.NODE.server]()


def _uvicorn() -> None:
    import uvicorn

    node = settings.NODE
    uvicorn.run(
        APPLICATION,
        host=node.http_host,
        port=node.http_port,
        loop="uvloop",
        http="nodeproject.direct:Protocol",
        ws="nodeproject.direct:WebSocket",
        ws_max_size=node.ws_message_limit,
        ws_ping_interval=30,
        ws_ping_timeout=30,
        ws_per_message_deflate=False,  # costs more than loopback and data centres gain
        timeout_keep_alive=120,
        timeout_graceful_shutdown=5,
        backlog=process.backlog(),
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,  # whom to believe is the gate's decision (NODE_TRUSTED_PROXIES)
        workers=node.web_workers if node.profile == "production" else 1,
    )


def _daphne() -> None:
    from daphne import server
    from daphne.ws_protocol import WebSocketFactory

    from jsonrpc.http import by_path
    from nodeproject.apps import this_node
    from nodeproject.asgi import application, takes_body
    from nodeproject.daphne_protocol import BoundedFactory, BoundedRequest, ClosingProtocol

    node = settings.NODE
    interfaces = by_path(this_node().doors.endpoints())

    def most_of(path: str) -> int:
        if path in interfaces:
            return node.body_limit
        return node.page_body_limit if takes_body(path) else 0

    BoundedRequest.most_of = staticmethod(most_of)
    server.HTTPFactory = BoundedFactory
    WebSocketFactory.protocol = ClosingProtocol
    host = node.http_host.replace(":", r"\:")
    server.Server(
        application=application,
        endpoints=[f"tcp:port={node.http_port}:interface={host}"],
        ping_interval=30,
        ping_timeout=30,
        websocket_timeout=10**9,  # subscriptions never expire
        websocket_max_message_size=node.ws_message_limit,
        websocket_max_frame_size=node.ws_message_limit,
        server_name="",
    ).run()
