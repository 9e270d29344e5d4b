"""The addresses at which a user on the same machine reaches the node."""

from nodeproject.settings.node import NodeSettings
from primitives.sockets import is_dual_stack, unbracketed


def base_url(settings: NodeSettings) -> str:
    """Return the base of a node's URLs."""
    return f"http://{reachable(settings.http_host)}:{settings.http_port}"


def reachable(host: str) -> str:
    """Return the address at which a browser on this machine reaches a server that listens on a host."""
    if host == "0.0.0.0" or is_dual_stack(host):  # noqa: S104  # it is replaced
        return "127.0.0.1"
    ip = unbracketed(host)
    return f"[{ip}]" if ":" in ip else ip
