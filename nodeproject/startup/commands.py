"""The commands of the product: their names, groups and one-line descriptions, known without loading Django."""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from textwrap import TextWrapper
from typing import Final, NamedTuple

from primitives.product import NAME


class ProductCommand(NamedTuple):
    """A command of the product."""

    name: str
    """The name that the help shows."""
    line: str
    """Its description."""
    module: str = ""
    """The name of Django's management command, if that is another one."""

    @property
    def django_name(self) -> str:
        """The name of Django's management command."""
        return self.module or self.name


GROUPS: Final[Mapping[str, Sequence[ProductCommand]]] = {
    "Run a node": (
        ProductCommand("run", "Run the node.", "runnode"),
        ProductCommand("status", "Show heads, pool and health of the node.", "node_status"),
        ProductCommand("shell", "Open a Python shell on this node, its chains and all models."),
        ProductCommand("local_network", "Run several nodes of one local network on this machine."),
    ),
    "Use a development chain": (
        ProductCommand("snapshot", "Save the state of the node under a name, and restore it."),
        ProductCommand("time_travel", "Move the node's clock forward on a local network."),
        ProductCommand("produce_block", "Build blocks on command."),
        ProductCommand("asset", "Create an asset of the X-Chain on a local network."),
        ProductCommand("l1", "Create an L1 on a local network, list and show L1s."),
    ),
    "Copy and move chains": (
        ProductCommand("backup", "Write all rows of this node and its identity to one file."),
        ProductCommand("restore", "Restore a backup into an empty data directory and database."),
        ProductCommand("transfer_state", "Copy the SQLite database into a PostgreSQL database."),
        ProductCommand("export_chain", "Write the C-Chain's blocks to a file in geth's format."),
        ProductCommand("import_chain", "Import a chain from geth's files and execute it again."),
    ),
    "Operate a node": (
        ProductCommand("init_node", "Prepare the data directory without starting the node."),
        ProductCommand("check_supply", "Check that no coins have appeared or disappeared."),
        ProductCommand("node_settings", "Print all settings and flags."),
        ProductCommand("make_genesis", "Write the genesis files of a new network."),
        ProductCommand("chain_views", "Print SQL for views over all EVM chains in one SQLite session."),
        ProductCommand("bootstrap_progress", "Show the progress of bootstrapping for each chain."),
        ProductCommand("runproducer", "Produce the blocks, as a process of the production profile."),
        ProductCommand("runnetwork", "Run the peer network, as a process of the production profile."),
    ),
    "Measure": (
        ProductCommand("seed_coreth", "Fill a new data directory with recorded blocks of avalanchego nodes."),
        ProductCommand("seed_history", "Fill a new data directory with many blocks."),
        ProductCommand("seed_platform", "Fill a new data directory with many stakers and outputs."),
        ProductCommand("time_record_poll", "Measure how long it takes to count a poll's votes."),
    ),
}  # fmt: skip
"""The commands by group, in the order of the help."""

MANAGE: Final = "manage"
"""The command behind which an installed package has Django's own commands."""

START: Final = GROUPS["Run a node"][0]
"""The command that runs the node."""

_BY_NAME: Final = {
    name: command
    for commands in GROUPS.values()
    for command in commands
    for name in (command.name, command.django_name)
}


def command_named(name: str) -> ProductCommand | None:
    """Return the command of a name: as the help shows it, with dashes, or the name of Django's command."""
    return _BY_NAME.get(name.replace("-", "_"))


def nearest_command(name: str) -> str | None:
    """Return the name of the command that was probably meant."""
    return nearest(name.replace("-", "_"), {command.name for command in _BY_NAME.values()})


def nearest(given: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to a given one; None if none is similar."""
    return next(iter(get_close_matches(given, sorted(known), 1, 0.6)), None)


def overview(program: str, columns: int) -> str:
    """Return the help of the program: how to start the node, and a line for each command.

    Args:
        program: The program's name.
        columns: The width of the terminal.
    """
    width = 2 + max(len(command.name) for command in _BY_NAME.values()) + 2
    wrapper = TextWrapper(columns, subsequent_indent=" " * width)
    lines = [
        f"Usage: {program} [run] [FLAGS]",
        f"       {program} COMMAND [FLAGS]",
        "",
        *TextWrapper(columns).wrap(
            f"{NAME} runs a P-Chain and an EVM C-Chain. Without a command it starts the node."
        ),
    ]
    for title, commands in GROUPS.items():
        lines += ["", f"{title}:"]
        for command in commands:
            lines += wrapper.wrap(f"  {command.name}".ljust(width) + command.line)
    lines += [
        "",
        *TextWrapper(columns).wrap(
            f"`{program} COMMAND --help` shows the flags of a command, `{program} --version` the version. "
            f"Commands take `--data-dir DIRECTORY` of the node that is meant, or NODE_DATA_DIR."
        ),
    ]
    return "\n".join(lines)
