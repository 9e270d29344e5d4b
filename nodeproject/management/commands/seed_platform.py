"""`seed_platform`: a P-Chain with many stakers and outputs, for measurements."""

from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections
from typing_extensions import override

from nodeproject.management.seeding_platform import NoGenesisPath, Shape, seed
from platform_app.apps import platform_chain
from primitives.addresses import AddressError, parse_address
from primitives.ids import ShortID
from primitives.networks import LOCAL


def _address(text: str) -> ShortID:
    try:
        return parse_address(text).short_id
    except AddressError as error:
        raise ArgumentTypeError(str(error)) from error


class Command(BaseCommand):
    """Fills the data directory of NODE_DATA_DIR, with a new genesis or on top of the existing chain."""

    help = (
        "Fill a data directory with a local network's P-Chain that has many stakers and outputs, for "
        "measurements. The genesis file is written to NODE_PLATFORM_GENESIS; where there is a chain "
        "already only past stakers are added."
    )

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--validators", type=int, default=0, help="besides the node itself, from genesis on"
        )
        parser.add_argument(
            "--delegators", type=int, default=0, help="spread evenly over the validators"
        )
        parser.add_argument(
            "--apart", type=int, default=0, help="seconds between the ends of validators"
        )
        parser.add_argument(
            "--coins", type=int, default=0, help="outputs of one coin that the holder gets"
        )
        parser.add_argument("--holder", type=_address, help="a P-Chain address")
        parser.add_argument(
            "--past", type=int, default=0, help="past delegators that were rewarded"
        )

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        if settings.NODE.common.network_id != LOCAL:
            raise CommandError(f"Only a local network is seeded: NODE_NETWORK_ID is not {LOCAL}.")
        if options["coins"] and options["holder"] is None:
            raise CommandError("--coins needs a --holder.")
        names = ("validators", "delegators", "apart", "coins", "holder", "past")
        try:
            seed(Shape(**{name: options[name] for name in names}))
        except NoGenesisPath as error:
            raise CommandError(str(error)) from error
        tip = platform_chain().tip()
        connections.close_all()
        self.stdout.write(f"The P-Chain's last block is {tip.height}.")
