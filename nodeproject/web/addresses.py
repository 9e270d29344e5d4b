"""Where a person on the same machine finds the node."""

from nodeproject.settings.node import NodeSettings
from primitives.sockets import is_dual_stack, unbracketed


def base_url(settings: NodeSettings) -> str:
    """Return what the URLs of a node begin with."""
    return f"http://{reachable(settings.http_host)}:{settings.http_port}"


def reachable(host: str) -> str:
    """Return the address by which a browser on this machine reaches a server that listens on a host."""
    if host == "0.0.0.0" or is_dual_stack(host):  # noqa: S104  # it is replaced
        return "127.0.0.1"
    ip = unbracketed(host)
    return f"[{ip}]" if ":" in ip else ip
