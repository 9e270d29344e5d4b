"""`seed_coreth`: recorded blocks of the C-Chain of a network of avalanchego nodes, to measure their execution."""

import json
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, Final

from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from typing_extensions import override

from chaindb import clock
from chainvm.errors import InvalidBlock
from chainvm.port import BlockContext
from nodeproject.apps import this_node
from nodeproject.management.initialise import initialise_or_explain

BATCH: Final = 20
"""Blocks that are verified and accepted together, as while bootstrapping."""


class Command(BaseCommand):
    """Executes, verifies and stores the blocks as if peers had sent them, and prints totals and times as JSON."""

    help = (
        "Fill a data directory with recorded blocks of a network of avalanchego nodes, for measurements, and print their "
        "totals and times as JSON. NODE_PARAMETERS must be avalanchego, and NODE_CONSENSUS snowman."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help="the blocks from block 1 on, each as 0x text in a line"
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        node = this_node()
        if not node.evm_chain.is_of_coreth:
            raise CommandError(
                "The C-Chain is not that of a network of avalanchego nodes: set NODE_PARAMETERS to avalanchego and "
                "NODE_CONSENSUS to snowman, and use an empty data directory."
            )
        try:
            raw = [
                bytes.fromhex(line.removeprefix("0x"))
                for line in options["file"].read_text().splitlines()
            ]
        except (OSError, ValueError) as error:
            raise CommandError(f"{options['file']}: {error}") from error
        initialise_or_explain(node)
        try:
            self.stdout.write(json.dumps(self._follow(raw)))
        except InvalidBlock as refusal:
            raise CommandError(f"A block is refused: {refusal}") from refusal
        finally:
            connections.close_all()

    def _follow(self, raw: list[bytes]) -> dict[str, float]:
        chain = this_node().evm_chain
        vm = this_node().evm_runtimes[chain.name].vm
        context = BlockContext(clock.wall(), decided=True)
        gas = transactions = 0
        began, processor = time.perf_counter(), time.process_time()
        for first in range(0, len(raw), BATCH):
            found = [vm.parse(one) for one in raw[first : first + BATCH]]
            vm.verify_all(found, [context] * len(found))
            vm.accept([block.block_id for block in found], written=lambda _: None)
            gas += sum(block.header.gas_used for block in found)
            transactions += sum(
                len(block.candidate(chain.format.parse_block).transactions) for block in found
            )
        return {
            "blocks": len(raw),
            "transactions": transactions,
            "gas": gas,
            "seconds": time.perf_counter() - began,
            "processor": time.process_time() - processor,
        }
