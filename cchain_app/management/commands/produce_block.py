"""`produce_block`: make blocks by hand, for NODE_MINING=manual and for tests of operators."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from typing_extensions import override

from cchain_app.services.chain import produce_block
from chaindb import clock


class Command(BaseCommand):
    """Makes one block of the pool's transactions, or empty ones."""

    help = "Make one block of what the pool has; with --empty also when it has nothing."

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--empty", action="store_true", help="make a block even without content"
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        block = produce_block(now=clock.now(), allow_empty=options["empty"])
        if block is None:
            self.stdout.write("The pool has nothing that can run.")
        else:
            self.stdout.write(f"Block {block.number} with {len(block.transactions)} transactions.")
