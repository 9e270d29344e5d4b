"""The command line: Django's commands and the node's own; without a command name it starts the node.

The flags of the start command are settings. Django reads its settings once, at first use, so the flags are
written to the environment before that.
"""

import gc
import os
import sys
from argparse import ArgumentParser
from collections.abc import MutableMapping, Sequence
from typing import Final

from django.core.management.base import BaseCommand
from typing_extensions import override

from nodeproject.settings.flags import is_service_link
from nodeproject.settings.node import NodeSettings
from nodeproject.settings.options import ConflictingFlags, add_options, environment
from nodeproject.startup.process import COLLECTOR
from nodeproject.startup.profile import CHECKS, choose_settings

START: Final = "runnode"
"""The command that runs the node."""

USAGE: Final = "%(prog)s [--port PORT] [--host ADDRESS] [--data-dir DIRECTORY] [--block-time SECONDS | --no-mining] [...]"

PEERS: Final = "NODE_STAKING_PORT"
NO_PORT_FOR_PEERS: Final = "0"


def main(argv: Sequence[str] | None = None, *, program: str | None = None) -> None:
    """Run a command, or the node.

    Unspecified: if a flag sets another port for HTTP and none for peers, the node takes a free port for
    peers, so that a second node needs one flag less.

    Args:
        argv: Arguments without the program's name: those of the start command, or a command's name and its
            arguments. None: the arguments of this process.
        program: The program's name in its output; None: the name under which it was called.

    Raises:
        SystemExit: For a wrong command line always with 2; otherwise as the command decides.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    called = program or os.path.basename(sys.argv[0])
    if not arguments or arguments[0].startswith("-"):
        arguments.insert(0, START)
    # Imported objects stay alive: collecting garbage among them takes a tenth of the start.
    if arguments[0] == START:
        apply(arguments[1:], os.environ, called)
        gc.disable()  # until the server's application is loaded (`process.tune`)
    else:
        gc.set_threshold(*COLLECTOR)
    choose_settings()
    from django.core.management import execute_from_command_line

    execute_from_command_line([called, *arguments])


def apply(arguments: Sequence[str], environ: MutableMapping[str, str], program: str) -> None:
    """Write the start command's flags to the environment.

    Raises:
        SystemExit: With 2 for unknown flags or invalid values; with 0 for `--help`.
    """
    given = _read(arguments, program) if arguments else {}
    peers = {**environ, **given}.get(PEERS)
    if "NODE_HTTP_PORT" in given and (peers is None or is_service_link(PEERS, peers)):
        given[PEERS] = NO_PORT_FOR_PEERS
    environ.update(given)


def _read(arguments: Sequence[str], program: str) -> dict[str, str]:
    parser = _CommandLine().create_parser(program, START, allow_abbrev=False)
    try:
        return environment(NodeSettings, parser.parse_args(arguments))
    except ConflictingFlags as error:
        parser.error(str(error))
        raise  # argparse has printed the message


class StartCommand(BaseCommand):
    """The start command's command line, which is parsed before Django is set up."""

    requires_system_checks = CHECKS
    help = "Run the node: in the embedded profile with its workers, in production the web server."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.usage = USAGE
        parser.epilog = "Each setting of docs/settings.md has a flag by its name. Flags win over the environment."
        add_options(parser, NodeSettings)


class _CommandLine(StartCommand):
    """The start command that ends the process with status 2 for a wrong flag, as Django's own commands do."""

    _called_from_command_line = True
