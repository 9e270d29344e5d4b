"""The command line: Django's commands and the node's own; without a command's name the node starts.

The start command's flags are settings. Django's are read once, when they are first asked for, so the flags are
written to the environment before.
"""

import gc
import os
import sys
from argparse import ArgumentParser
from collections.abc import MutableMapping, Sequence
from typing import Final

from django.core.management.base import BaseCommand
from typing_extensions import override

from nodeproject.processes.process import COLLECTOR
from nodeproject.settings.flags import is_service_link
from nodeproject.settings.node import NodeSettings
from nodeproject.settings.options import Contradiction, add_options, environment
from nodeproject.startup.profile import choose_settings

START: Final = "runnode"
"""The command that runs the node."""

CHECKS: Final = ("node",)
"""The tag of the node's own system checks (`checks.py`), which its commands run.

Django's look at code, which only changes with a release, and at URLs, which loads all pages; `make lint` runs them.
"""

USAGE: Final = "%(prog)s [--port PORT] [--host ADDRESS] [--data-dir DIRECTORY] [--block-time SECONDS | --no-mining] [...]"

PEERS: Final = "NODE_STAKING_PORT"
NO_PORT_FOR_PEERS: Final = "0"


def main(argv: Sequence[str] | None = None, *, program: str | None = None) -> None:
    """Run a command, or the node.

    Unspecified: a node that is given another port for HTTP by a flag, and none for peers, has peers connect to
    one that is free, so that a second node needs one flag less.

    Args:
        argv: Arguments without the program's name: of the start command, or a command's name and its
            arguments. None: this process's.
        program: What the program is called in what it says; None: as it was called.

    Raises:
        SystemExit: Always for a wrong command line, with 2; as the command says else.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    called = program or os.path.basename(sys.argv[0])
    if not arguments or arguments[0].startswith("-"):
        arguments.insert(0, START)
    if arguments[0] == START:
        apply(arguments[1:], os.environ, called)
    # What is imported stays: looking through it for garbage takes a tenth of the start.
    gc.set_threshold(*COLLECTOR)
    choose_settings()
    from django.core.management import execute_from_command_line

    execute_from_command_line([called, *arguments])


def apply(arguments: Sequence[str], environ: MutableMapping[str, str], program: str) -> None:
    """Write what the start command's flags say to the environment.

    Raises:
        SystemExit: With 2 for flags that there are not, or that cannot be what they are; with 0 for `--help`.
    """
    parser = _CommandLine().create_parser(program, START, allow_abbrev=False)
    try:
        given = environment(NodeSettings, parser.parse_args(arguments))
    except Contradiction as error:
        parser.error(str(error))
        raise  # it has ended the process
    peers = {**environ, **given}.get(PEERS)
    if "NODE_HTTP_PORT" in given and (peers is None or is_service_link(PEERS, peers)):
        given[PEERS] = NO_PORT_FOR_PEERS
    environ.update(given)


class StartCommand(BaseCommand):
    """The start command as far as its command line goes, which is read before Django is set up."""

    requires_system_checks = CHECKS
    help = "Run the node: in the embedded profile with its workers, in production the web server."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.usage = USAGE
        parser.epilog = "Each setting of docs/settings.md has a flag by its name. Flags win over the environment."
        add_options(parser, NodeSettings)


class _CommandLine(StartCommand):
    """Ends the process where a flag is wrong, with 2, as commands do that Django has found."""

    _called_from_command_line = True
