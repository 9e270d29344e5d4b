"""`produce_block`: builds blocks manually, for NODE_MINING=manual and for operators' tests."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from typing_extensions import override

from cchain_app.apps import find_evm_runtime
from cchain_app.selectors import blocks
from cchain_app.services.runtime import EvmRuntime
from chaindb import clock
from primitives.counting import counted


class Command(BaseCommand):
    """Builds blocks from the pool's transactions, or empty blocks."""

    help = "Build a block from the mempool; with --empty even if that is empty."

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--empty", action="store_true", help="build a block even if it is empty"
        )
        parser.add_argument(
            "--chain", default="C", help="an alias or the blockchain ID of the chain (default C)"
        )
        parser.add_argument("--count", type=int, default=1, help="number of blocks (default 1)")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        runtime = find_evm_runtime(options["chain"])
        if runtime is None:
            raise CommandError(f"No EVM chain of this node is called {options['chain']}.")
        chain = runtime.chain
        if chain.node.votes:
            raise CommandError(
                "The validators vote on blocks (NODE_CONSENSUS=snowman), so blocks cannot be built on command."
            )
        if not blocks.are_made(chain):
            self.stdout.write(
                "This chain was imported and produces no blocks; `import_chain GENESIS --produce` enables production."
            )
            return
        for _ in range(options["count"]):
            made = runtime.consensus.produce(now=clock.cchain_now(), allow_empty=options["empty"])
            block = None if made is None else blocks.by_number(chain, made.height)
            if block is None:
                self.stdout.write(_why_none(runtime))
                return
            self.stdout.write(
                f"Block {block.number} with {counted(len(block.transactions), 'transaction')}."
            )


def _why_none(runtime: EvmRuntime) -> str:
    height = blocks.head(runtime.chain).number + 1
    if runtime.consensus.may_produce(height, clock.now()):
        return "The mempool has no executable transactions."
    return "Another node produces this network's blocks, or this node is bootstrapping."
