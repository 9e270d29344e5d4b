"""`runnetwork` as `network_app` has it, shown to monitoring: that app knows nothing of who watches."""

from typing import Any

from typing_extensions import override

from network_app.management.commands import runnetwork
from nodeproject.apps import this_node


class Command(runnetwork.Command):
    """Talks to other nodes until it is interrupted."""

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = this_node()
        node.observation.observe("network")
        node.transaction_log.begin()
        try:
            super().handle(*args, **options)
        finally:
            node.transaction_log.end()
