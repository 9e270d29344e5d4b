"""Flags of Anvil and Hardhat whose units or values are not those of a setting, and those that are refused.

All other flags of these tools are names of settings (`options`). Sources: `anvil --help` (1.7.1), `hardhat node --help`
(2.29.1) and the node task of Hardhat 3.18.0.
"""

import os
import re
from argparse import SUPPRESS, Action, ArgumentError, ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from typing_extensions import override

from nodeproject.settings.flags import Setting


class ToolFlag(NamedTuple):
    """A flag whose text is converted to that of a setting."""

    options: tuple[str, ...]
    setting: str
    """The name of the setting."""
    meaning: str
    read: Callable[[str], str] = str
    """Returns the setting's text. Raises ValueError."""
    bare: str | None = None
    """The setting's text if the flag has no value; None: it needs one."""
    fixed: str | None = None
    """The setting's text, for a flag that takes no value."""


def _milliseconds(text: str) -> str:
    return str(int(text) / 1000)


def _threads(text: str) -> str:
    return str(int(text) or os.cpu_count() or 1)


CONVERTED: Final = (
    ToolFlag(
        ("--timeout",), "fork_timeout", "Milliseconds for one request to the remote node.", _milliseconds
    ),
    ToolFlag(
        ("--fork-retry-backoff",),
        "fork_retry_delay",
        "Milliseconds before each retry of a request to the remote node.",
        _milliseconds,
    ),
    ToolFlag(
        ("--threads", "--jobs", "-j"), "rpc_threads", "Threads for calls; 0: one for each core.", _threads
    ),
    ToolFlag(
        ("--prune-history",),
        "history_state",
        "States that are kept; without a number the fewest possible.",
        bare="1",
    ),
    ToolFlag(
        ("--preserve-historical-states",),
        "history_state",
        "All states are kept, in the data directory; a state file has the last one.",
        fixed="0",
    ),
)  # fmt: skip
"""The order is that of the help."""

ALWAYS: Final[Mapping[tuple[str, ...], str]] = {
    (
        "--steps-tracing",
        "--tracing",
    ): "Traces with steps are available (debug_trace…); they always are.",
    (
        "--no-storage-caching",
    ): "Forks share no cache of remote state; each data directory always has its own.",
}
"""Flags whose effect this node always has."""

CHOICES: Final[Mapping[str, Mapping[str, str | None]]] = {
    "-n": {
        "ethereum": None,
        "optimism": "the C-Chain has Ethereum's rules",
        "tempo": "the C-Chain has Ethereum's rules",
    },
    "--chain-type": {
        "generic": None,
        "l1": None,
        "op": "the C-Chain has Ethereum's rules",
    },
}
"""Flags that name a kind of chain: each value with the reason to refuse it, None if it is this node's kind."""

REFUSED: Final[Mapping[str, str]] = {
    "--celo": "the C-Chain has Ethereum's rules and no features of Celo",
}
"""Flags without a meaning or an implementation here, each with the reason."""

_VERBOSE: Final = re.compile(r"-v+|--verbosity")


def translated(arguments: Sequence[str]) -> list[str]:
    """Return a command line whose flags this module and `options` know: Anvil's `-vv` and `--network NAME` replaced.

    Unspecified: each number of `-v` means the log level DEBUG.
    """
    found: list[str] = []
    rest = list(arguments)
    while rest:
        argument, following = rest.pop(0), rest[0] if rest else ""
        if _VERBOSE.fullmatch(argument) and not following.isdecimal():
            found += ["--log-level", "DEBUG"]
        elif argument == "--network" and following and not following.startswith("-"):
            found += ["-n", rest.pop(0)]
        elif argument.startswith("--network="):
            found += ["-n", argument.partition("=")[2]]
        else:
            found.append(argument)
    return found


def add_tool_flags(
    parser: ArgumentParser,
    settings: Mapping[str, Setting],
    dest: Callable[[str], str],
    verify: Callable[[Setting, str], str],
) -> None:
    """Add the flags of this module to a parser.

    Args:
        parser: The parser.
        settings: The settings by name.
        dest: Returns the name of a setting's value among the parsed options.
        verify: Returns the text of a setting; raises ArgumentTypeError if it is invalid.
    """
    group = parser.add_argument_group("flags of Anvil and Hardhat in their units")
    for flag in CONVERTED:
        if flag.fixed is not None:
            group.add_argument(
                *flag.options,
                dest=dest(flag.setting),
                default=SUPPRESS,
                action="store_const",
                const=flag.fixed,
                help=flag.meaning,
            )
            continue
        optional: dict[str, Any] = {} if flag.bare is None else {"nargs": "?", "const": flag.bare}
        group.add_argument(
            *flag.options,
            dest=dest(flag.setting),
            default=SUPPRESS,
            metavar="VALUE",
            type=partial(_converted, flag, settings[flag.setting], verify),
            help=flag.meaning,
            **optional,
        )
    for options, meaning in ALWAYS.items():
        group.add_argument(*options, action="store_true", default=SUPPRESS, help=meaning)
    for option, values in CHOICES.items():
        named = [name for name, reason in values.items() if reason is None]
        group.add_argument(
            option,
            type=partial(_chosen, values),
            default=SUPPRESS,
            metavar="|".join(named),
            help="The kind of the chain.",
        )
    for option in REFUSED:
        group.add_argument(option, nargs="?", action=_Refusal, help=SUPPRESS)


def _converted(
    flag: ToolFlag, setting: Setting, verify: Callable[[Setting, str], str], text: str
) -> str:
    try:
        read = flag.read(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} was given; it must be a whole number") from None
    return verify(setting, read)


def _chosen(values: Mapping[str, str | None], text: str) -> str:
    if text not in values:
        raise ArgumentTypeError(f"{text!r} was given; it must be one of {', '.join(values)}")
    reason = values[text]
    if reason is not None:
        raise ArgumentTypeError(f"{text} is not available here: {reason}")
    return text


class _Refusal(Action):
    """Ends the command line with the reason."""

    @override
    def __call__(
        self,
        parser: ArgumentParser,
        namespace: Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        assert option_string is not None, "it is no positional argument"
        raise ArgumentError(
            None, f"{option_string} is not available here: {REFUSED[option_string]}"
        )
