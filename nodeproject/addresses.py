"""Where a person on the same machine finds the node."""

from nodeproject.settings.node import NodeSettings


def base_url(settings: NodeSettings) -> str:
    """Return what the URLs of a node begin with."""
    return f"http://{reachable(settings.http_host)}:{settings.http_port}"


def reachable(host: str) -> str:
    """Return where a browser on this machine finds what listens on an address: all of them is none."""
    ip = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104  # it is replaced
    return f"[{ip}]" if ":" in ip else ip
