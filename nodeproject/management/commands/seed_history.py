"""`seed_history`: blocks of both chains, to measure how nodes join a network."""

import json
from argparse import ArgumentParser
from dataclasses import asdict, fields
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from typing_extensions import override

from chaindb import clock
from nodeproject.management.seeding_history import SeededHistory, seed
from nodeproject.management.seeding_transfers import UnexpectedBlock
from primitives.networks import LOCAL

_NUMBERS = {
    "empty": "blocks of the C-Chain without transactions",
    "light": "blocks of the C-Chain with transfers",
    "transfers": "transfers in each of these",
    "platform": "blocks of the P-Chain with payments",
    "payments": "payments in each of these",
}
_COUNTED_FROM_ONE = ("transfers", "payments", "recipients")
_OPTIONS = {
    "recipients": "accounts that get the transfers",
    "together": "blocks of the C-Chain that are committed together, without the pool; 0: each through the pool",
    "interval": "seconds between two blocks that are committed together; 0: they have the node's time",
    "ago": "seconds before now at which the first block of a new history has its time, with --together",
}


class Command(BaseCommand):
    """Fills the data directory of NODE_DATA_DIR and prints the blocks and their production rates as JSON."""

    help = (
        "Fill a data directory with a history of both chains, for measurements, and print the "
        "blocks and their production times as JSON. NODE_MINING must be manual."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        for name, meaning in _NUMBERS.items():
            parser.add_argument(f"--{name}", type=int, required=True, help=meaning)
        for field in fields(SeededHistory):
            if field.name in _OPTIONS:
                parser.add_argument(
                    f"--{field.name}", type=int, default=field.default, help=_OPTIONS[field.name]
                )

        parser.add_argument(
            "--indexes",
            action="store_true",
            help="also write the indexes of calls and tokens, and the figures of days and accounts",
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        if settings.NODE.common.network_id != LOCAL:
            raise CommandError(f"Only a local network is seeded: NODE_NETWORK_ID is not {LOCAL}.")
        if settings.NODE.cchain.mining != "manual":
            raise CommandError(
                "Nothing else may produce blocks meanwhile: set NODE_MINING to manual."
            )
        for name in (*_NUMBERS, *_OPTIONS):
            least = 1 if name in _COUNTED_FROM_ONE else 0
            if options[name] < least:
                raise CommandError(f"--{name} is {options[name]}: it must be at least {least}.")
        # Not the node's time: an empty directory has no table with its offset yet.
        latest = clock.wall() - options["interval"]
        if options["ago"] > latest:
            raise CommandError(
                f"--ago is {options['ago']}: it must be at most {latest}, since 1970."
            )
        try:
            past = seed(
                SeededHistory(**{name: options[name] for name in (*_NUMBERS, *_OPTIONS, "indexes")})
            )
        except UnexpectedBlock as error:
            raise CommandError(str(error)) from error
        connections.close_all()
        self.stdout.write(json.dumps([asdict(item) for item in past]))
