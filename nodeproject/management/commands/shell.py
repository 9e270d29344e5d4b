"""`shell`: Django's shell, with this node, its chains and a client of the node predefined."""

from typing import Any

from django.conf import settings
from django.core.management.commands import shell
from typing_extensions import override

from nodeproject.apps import this_node
from nodeproject.web.paths import running_url


class Command(shell.Command):
    """Opens Python with `node`, `chain` (the C-Chain), `platform_chain` and `w3` besides all models.

    The first three read the database as this process sees it. `w3` (web3.py) talks over HTTP to the running node with
    the same settings; use it for everything that changes the chain.
    """

    help = (
        "Open a Python shell with all models, and with `node`, `chain`, `platform_chain` and `w3` "
        "(web3.py on the running node)."
    )

    @override
    def get_namespace(self, **options: Any) -> dict[str, Any]:
        """Return the predefined names of the shell; none with --no-imports."""
        found: dict[str, Any] = super().get_namespace(**options)
        if options.get("no_imports"):
            return found
        from web3 import HTTPProvider, Web3  # slow to import, and only needed here

        node = this_node()
        url = f"{running_url(settings.NODE)}/ext/bc/C/rpc"
        headers = {"Content-Type": "application/json", **settings.NODE.rpc_headers}
        return {
            **found,
            "node": node,
            "chain": node.evm_chain,
            "platform_chain": node.platform_chain,
            "w3": Web3(HTTPProvider(url, request_kwargs={"headers": headers})),
        }
