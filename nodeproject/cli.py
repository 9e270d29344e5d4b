"""The command `firn`: the node without arguments, else one of its commands (`firn node_status`)."""

import gc
import sys
from collections.abc import Sequence

from nodeproject.process import COLLECTOR
from nodeproject.profile import choose_settings
from primitives.product import NAME


def main(argv: Sequence[str] | None = None, *, program: str = NAME.lower()) -> None:
    """Run a command.

    Args:
        argv: Its name and arguments, without the program's.
        program: What the program is called in what it says.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    # What is imported stays: looking through it for garbage takes a tenth of the start.
    gc.set_threshold(*COLLECTOR)
    choose_settings()
    from django.core.management import execute_from_command_line

    execute_from_command_line([program, *(arguments or ["runnode"])])
