"""`time_travel`: move the node's clock forward on a local network, building all blocks that become due."""

import argparse
import re
import time
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError
from rich.console import Console
from rich.progress import Progress
from typing_extensions import override

from chaindb import clock
from platform_app.apps import platform_chain, platform_runtime
from platform_app.chain import NoPlatformGenesis
from platform_app.memory.answers import MAX_AGE
from platform_app.services.errors import ClockNotMovable
from platform_app.services.time_travel import time_travel
from primitives.counting import counted

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800, "y": 31_536_000}
_DURATION = re.compile(r"([0-9]{1,10})([smhdwy]?)")
_LONGEST = 100 * _SECONDS["y"]


def duration(text: str) -> int:
    """Parse a duration such as `30d` to seconds; a plain number is in seconds."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration; write 90s, 15m, 12h, 30d, 2w or 1y"
        )
    seconds = int(match[1]) * _SECONDS[match[2] or "s"]
    if not 0 < seconds <= _LONGEST:
        raise argparse.ArgumentTypeError("the clock moves forward, and at most by 100y at once")
    return seconds


class Command(BaseCommand):
    """Moves the clock of all chains, and builds the P-Chain's blocks up to the new time."""

    help = "Move the node's clock forward on a local network, e.g. 30d; stakers begin and end meanwhile."

    @override
    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("duration", type=duration, help="such as 90s, 15m, 12h, 30d, 2w, 1y")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        seconds: int = options["duration"]
        try:
            before = platform_chain().tip()
        except (NoPlatformGenesis, DatabaseError):
            raise CommandError(
                "This node has no chain yet: start it with `nunatak`, in a checkout with `make run`."
            ) from None
        started = time.monotonic()
        try:
            with Progress(console=Console(stderr=True), transient=True) as bar:
                began = before.timestamp
                task = bar.add_task("Travelling", total=clock.now() + seconds - began)
                time_travel(
                    platform_runtime(), seconds, lambda at: bar.update(task, completed=at - began)
                )
        except (ClockNotMovable, clock.ClockTooLate) as error:
            raise CommandError(str(error)) from error
        # After this time every process of the node returns the new state.
        time.sleep(MAX_AGE)
        now = datetime.fromtimestamp(clock.now(), UTC)
        took = time.monotonic() - started
        built = platform_chain().tip().height - before.height
        self.stdout.write(
            f"It is {now:%Y-%m-%d %H:%M:%S} UTC now. {counted(built, 'block')}, {took:.1f} s."
        )
