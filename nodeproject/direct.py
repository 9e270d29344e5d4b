"""uvicorn's HTTP protocol of this node: the direct door before all others."""

import nodeproject.asgi  # noqa: F401  # uvicorn imports this module first, and models need Django's setup
from jsonrpc import direct
from jsonrpc.http import by_path
from nodeproject import doors


class Protocol(direct.DirectProtocol):
    """The direct door to this node's endpoints."""

    heads = direct.Heads(by_path([doors.cchain()]))
