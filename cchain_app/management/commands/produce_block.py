"""`produce_block`: make blocks by hand, for NODE_MINING=manual and for tests of operators."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from typing_extensions import override

from cchain_app.apps import evm_chain
from cchain_app.selectors import blocks
from cchain_app.services.chain import produce_block
from chaindb import clock, turns
from chaindb.chains import Chain


class Command(BaseCommand):
    """Makes blocks of the pool's transactions, or empty ones."""

    help = "Make a block of what the pool has; with --empty also when it has nothing."

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--empty", action="store_true", help="make a block even without content"
        )
        parser.add_argument("--count", type=int, default=1, help="make so many (default 1)")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        for _ in range(options["count"]):
            block = produce_block(evm_chain(), now=clock.now(), allow_empty=options["empty"])
            if block is None:
                self.stdout.write(_why_none())
                return
            self.stdout.write(f"Block {block.number} with {len(block.transactions)} transactions.")


def _why_none() -> str:
    height = blocks.head(evm_chain()).number + 1
    if turns.may_produce(Chain.C, height, clock.now()):
        return "The pool has nothing that can run."
    return f"It is another node's turn to make block {height}, or others have not agreed to this one's."
