"""`time_record_poll`: measure the time that it takes to count a poll's votes."""

import json
import time
from collections import Counter
from itertools import pairwise
from statistics import median
from typing import Any

from django.core.management.base import BaseCommand
from typing_extensions import override

from network_app.snowman.parameters import SnowParameters
from network_app.snowman.topological import Topological
from primitives.ids import ID

ROUNDS = 200
"""Number of series of polls, whose median is printed."""
TIP, BEFORE = 17, 3
"""The division of the 20 votes between the last block and its parent."""


class Command(BaseCommand):
    """Prints the microseconds per poll as JSON, with one and with ten processing blocks."""

    help = (
        "Count votes in trees of one and of ten processing blocks that follow each other, with the "
        "default parameters, and print as JSON how many microseconds each poll took."
    )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write(json.dumps({"one": _microseconds(1), "ten": _microseconds(10)}))


def _microseconds(blocks: int) -> float:
    return median(_poll_time(blocks) for _ in range(ROUNDS)) * 1e6


def _poll_time(blocks: int) -> float:
    """Return the seconds per poll, in a series that is too short to decide anything."""
    parameters = SnowParameters()
    line = [ID(bytes([number]) * ID.SIZE) for number in range(blocks + 1)]
    tree = Topological(parameters, line[0], 0)
    for height, (parent, block_id) in enumerate(pairwise(line), start=1):
        tree.add(block_id, parent, height)
    votes = Counter({line[-1]: TIP, line[-2]: BEFORE})
    polls = parameters.beta - 1
    started = time.perf_counter()
    for _ in range(polls):
        tree.record_poll(votes)
    return (time.perf_counter() - started) / polls
