"""`make_genesis`: the genesis files of a new network with several validators."""

import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from typing_extensions import override

from cchain_app.accounts.keyring import KeyringError
from cchain_app.apps import evm_chain
from cchain_app.genesis import complete_text
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.services.genesis import begin_time
from nodeproject.startup.genesis_validators import founder
from platform_app.apps import platform_chain
from platform_app.genesis.building import own_network
from platform_app.genesis.config import format_genesis_config
from platform_app.genesis.errors import GenesisError
from primitives.whole_files import write_whole


class Command(BaseCommand):
    """Writes the genesis files of both chains, which all nodes of the network need."""

    help = "Write the genesis files of a new network whose validators are named."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--validator",
            action="append",
            required=True,
            type=founder,
            metavar="CERT:SIGNER",
            help="a validator: its certificate's file or node ID, and its BLS key's file or a JSON "
            "file with publicKey and proofOfPossession; may be repeated, and the first one makes "
            "the blocks where no votes are taken, unless NODE_PRODUCER says otherwise",
        )
        parser.add_argument(
            "--start", type=int, help="when the network begins, Unix seconds (default: now)"
        )
        parser.add_argument("directory", type=Path, help="where the files are written")

    @override
    def handle(self, *args: Any, **options: Any) -> None:
        start: int = int(time.time()) if options["start"] is None else options["start"]
        directory: Path = options["directory"]
        try:
            c_chain = complete_text(
                evm_chain().genesis_file(),
                timestamp=begin_time(evm_chain(), start),
                config=evm_chain().config,
            )
            config = own_network(
                platform_chain().config,
                options["validator"],
                start_time=start,
                c_chain_genesis=c_chain,
            )
            config.verify()
        except (GenesisError, GenesisFileError, KeyringError, OSError) as error:
            raise CommandError(str(error)) from error
        files = {"platform.json": format_genesis_config(config), "cchain.json": c_chain}
        try:
            directory.mkdir(parents=True, exist_ok=True)
            for name, text in files.items():
                write_whole(directory / name, text.encode())
        except OSError as error:
            raise CommandError(f"{error.filename}: {error.strerror or error}") from error
        self.stdout.write("Give these to every node of the network:")
        self.stdout.write(f"  NODE_PLATFORM_GENESIS={directory / 'platform.json'}")
        self.stdout.write(f"  NODE_GENESIS={directory / 'cchain.json'}")
