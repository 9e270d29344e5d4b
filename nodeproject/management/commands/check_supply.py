"""`check_supply`: count the coins of all chains, and check that none has appeared or disappeared."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from typing_extensions import override

from health_app.conservation import coins_text
from health_app.supply import CountedChains, count_coins
from nodeproject.apps import this_node
from nodeproject.management.terminal import explaining_refusals, print_section
from nodeproject.startup.profile import CHECKS


class Command(BaseCommand):
    """Prints where coins came from and where they are; fails if the sums differ. The node may run meanwhile."""

    requires_system_checks = CHECKS
    help = "Count the coins of all chains, and check that none has appeared or disappeared."

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = this_node()
        with explaining_refusals():
            counted = count_coins(
                CountedChains(
                    node.platform_runtime.chain, node.evm_runtime.chain, node.avm_runtime.chain
                )
            )
        if isinstance(counted, str):
            raise CommandError(f"The coins cannot be counted: {counted}.")
        print_section(
            "Came into being", {name: coins_text(wei) for name, wei in counted.sources.items()}
        )
        print_section(
            "Are now, or were burned",
            {name: coins_text(wei) for name, wei in counted.places.items()},
        )
        fault, note = counted.verdict()
        if fault:
            raise CommandError(f"There are {fault}.")
        self.stdout.write(f"All coins are accounted for{f'; {note}' if note else ''}.")
