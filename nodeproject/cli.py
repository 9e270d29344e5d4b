"""The command line: the product's commands, and Django's; without a command name it starts the node.

The flags of the start command are settings. Django reads its settings once, at first use, so the flags are
written to the environment before that.
"""

import gc
import os
import re
import shutil
import sys
from argparse import SUPPRESS, ArgumentParser, _SubParsersAction
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from itertools import takewhile
from typing import Final, NoReturn

from django.core.management.base import BaseCommand, CommandError, CommandParser
from typing_extensions import override

from nodeproject.settings.flags import is_service_link
from nodeproject.settings.node import NodeSettings
from nodeproject.settings.options import ConflictingFlags, add_options, environment
from nodeproject.settings.tool_flags import translated
from nodeproject.startup.commands import (
    MANAGE,
    START,
    ProductCommand,
    command_named,
    nearest,
    nearest_command,
    overview,
)
from nodeproject.startup.process import COLLECTOR
from nodeproject.startup.profile import CHECKS, choose_settings
from primitives.product import version_line

USAGE: Final = "%(prog)s [--port PORT] [--host ADDRESS] [--data-dir DIRECTORY] [--block-time SECONDS | --no-mining] [...]"

PEERS: Final = "NODE_STAKING_PORT"
NO_PORT_FOR_PEERS: Final = "0"

DATA_DIR: Final = "--data-dir"

WRONG_COMMAND_LINE: Final = 2
"""Exit code for a wrong command or flag, as argparse's."""

OF_DJANGO: Final = frozenset(
    {
        "--version", "-v", "--verbosity", "--settings", "--pythonpath", "--traceback", "--no-color",
        "--force-color",
    }
)  # fmt: skip
"""Flags that Django adds to each command. They have their effect, but the help does not list them."""

_UNKNOWN: Final = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)
_CHOICE: Final = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)")
"""Messages of argparse."""
_WORD: Final = re.compile(r"[\w-]+")
_OF_THE_UTILITY: Final = frozenset({"help", "version"})
"""Names that Django's command line takes besides those of commands."""


def main(
    argv: Sequence[str] | None = None, *, program: str | None = None, with_django: bool = False
) -> None:
    """Run a command, or the node.

    Unspecified: if a flag sets another port for HTTP and none for peers, the node takes a free port for
    peers, so that a second node needs one flag less.

    Args:
        argv: Arguments without the program's name: those of the start command, or a command's name and its
            arguments. None: the arguments of this process.
        program: The program's name in its output; None: the name under which it was called.
        with_django: Whether Django's own commands, and its help, are among the commands; else they are
            behind `manage`.

    Raises:
        SystemExit: For a wrong command line always with 2; otherwise as the command decides.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if asks_for_version(arguments):
        print(version_line(engine_name()))
        return
    called = program or os.path.basename(sys.argv[0])
    if arguments[:1] == [MANAGE] and not with_django:
        called, arguments, with_django = f"{called} {MANAGE}", arguments[1:] or ["help"], True
    if not with_django and arguments[:1] in (["-h"], ["--help"], ["help"]):
        if len(arguments) == 1:
            print(overview(called, shutil.get_terminal_size().columns))
            return
        arguments = [*arguments[1:], "--help"]
    if not arguments or arguments[0].startswith("-"):
        arguments.insert(0, START.name)
    command = command_named(arguments[0])
    if command is None and (not with_django or _is_mistyped(arguments[0])):
        _refuse_command(called, arguments[0])
    # Imported objects stay alive: collecting garbage among them takes a tenth of the start.
    if command == START:
        apply(arguments[1:], os.environ, called)
        arguments[0] = START.django_name
        gc.disable()  # until the server's application is loaded (`process.tune`)
    else:
        gc.set_threshold(*COLLECTOR)
    if command is not None and command != START:
        arguments = [
            command.django_name,
            *with_directory(arguments[1:], os.environ),
        ]
        _check_arguments(called, command, arguments[1:])
    choose_settings()
    from django.core.management import execute_from_command_line

    execute_from_command_line([called, *arguments])


def asks_for_version(arguments: Sequence[str]) -> bool:
    """Return whether `--version` or `-V` is among the flags of a command line."""
    flags = takewhile(lambda argument: argument != "--", arguments)
    return any(flag in {"--version", "-V"} for flag in flags)


def engine_name() -> str:
    """Return which EVM engine is installed."""
    from cchain_app.evm.select import has_native  # not needed to start

    return "native engine" if has_native() else "reference engine"


def with_directory(arguments: Sequence[str], environ: MutableMapping[str, str]) -> list[str]:
    """Write the data directory that a command's arguments name to the environment; return the other arguments.

    Raises:
        SystemExit: With 2 if the flag has no value.
    """
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(DATA_DIR)
    given, rest = parser.parse_known_args(arguments)
    if given.data_dir is not None:
        environ["NODE_DATA_DIR"] = given.data_dir
    return rest


def _check_arguments(program: str, command: ProductCommand, arguments: Sequence[str]) -> None:
    """Parse the arguments of a product's command, to show its help, or an error that names its own flags.

    Raises:
        SystemExit: With 2 for wrong arguments, with 0 for `--help`.
    """
    choose_settings()
    import django
    from django.core.management import get_commands, load_command_class

    django.setup()
    found: BaseCommand = load_command_class(
        get_commands()[command.django_name], command.django_name
    )
    parser = parser_of(found, program, command.name)
    parser.add_argument(
        DATA_DIR,
        metavar="DIRECTORY",
        help="the data directory of the node that is meant (NODE_DATA_DIR)",
    )
    try:
        parser.parse_args(arguments)
    except CommandError as error:
        _refuse(parser, str(error).removeprefix("Error: "))


def parser_of(command: BaseCommand, program: str, name: str) -> CommandParser:
    """Return a command's parser, whose help lists the command's own flags; a wrong flag raises CommandError."""
    command.suppressed_base_arguments = set(OF_DJANGO)
    command.requires_system_checks = []  # `create_parser` would list their flag
    parser = command.create_parser(program, name, allow_abbrev=False)
    parser.add_argument("--skip-checks", action="store_true", help=SUPPRESS)
    return parser


def _refuse(parser: CommandParser, message: str) -> NoReturn:
    """Print the usage, the error, and the flag that was probably meant; end with 2."""
    parser.print_usage(sys.stderr)
    print(f"{parser.prog}: error: {message}{_meant(parser, message)}", file=sys.stderr)
    raise SystemExit(WRONG_COMMAND_LINE)


def _meant(parser: ArgumentParser, message: str) -> str:
    """Return which flags or choices are similar to those that a message of argparse rejects."""
    if choice := _CHOICE.search(message):
        found = nearest(choice[1], _WORD.findall(choice[2]))
        meant = [] if found is None else [found]
    elif unknown := _UNKNOWN.search(message):
        known = set(_options(parser))
        given = [word.partition("=")[0] for word in unknown[1].split() if word.startswith("-")]
        meant = [found for word in given if (found := nearest(word, known)) is not None]
    else:
        return ""
    return f"; did you mean {' and '.join(meant)}?" if meant else ""


def _options(parser: ArgumentParser) -> Iterator[str]:
    """Yield the flags of a parser and of its subcommands. argparse has no public list of them."""
    for action in parser._actions:  # noqa: SLF001
        yield from action.option_strings
        if isinstance(action, _SubParsersAction):
            for inner in action.choices.values():
                yield from _options(inner)


def _is_mistyped(name: str) -> bool:
    """Return whether a name is that of no command, Django's included, but similar to one of the product's."""
    if name in _OF_THE_UTILITY or nearest_command(name) is None:
        return False
    choose_settings()
    import django
    from django.core.management import get_commands

    django.setup()  # the commands of the installed apps are among them
    return name not in get_commands()


def _refuse_command(program: str, name: str) -> NoReturn:
    """Print that there is no such command, and which one was probably meant; end with 2."""
    if name in _django_commands():
        hint = f"it is a command of Django: `{program} {MANAGE} {name}`"
    elif near := nearest_command(name):
        hint = f"did you mean `{program} {near}`?"
    else:
        hint = f"`{program} --help` lists the commands"
    print(f"{program}: error: there is no command {name!r}; {hint}", file=sys.stderr)
    raise SystemExit(WRONG_COMMAND_LINE)


def _django_commands() -> Iterable[str]:
    """Return the names of Django's commands that need no look at the settings."""
    from django.contrib import auth, sessions
    from django.core import management

    places = (management, auth, sessions)
    of_apps = [os.path.join(module.__path__[0], "management") for module in places[1:]]
    return {
        name
        for place in (management.__path__[0], *of_apps)
        for name in management.find_commands(place)
    }


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
    parser = parser_of(StartCommand(), program, START.name)
    try:
        return environment(NodeSettings, parser.parse_args(translated(arguments)))
    except CommandError as error:
        _refuse(parser, str(error).removeprefix("Error: "))
    except ConflictingFlags as error:
        _refuse(parser, str(error))


class StartCommand(BaseCommand):
    """The start command's command line, which is parsed before Django is set up."""

    requires_system_checks = CHECKS
    help = "Run the node: in the embedded profile with its workers, in production the web server."

    @override
    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.usage = USAGE
        parser.epilog = "Each setting of docs/settings.md has a flag by its name. Flags win over the environment."
        add_options(parser, NodeSettings)
