#!/usr/bin/env python
"""The command line: Django's commands and the node's own. The profile chooses the settings."""

import gc
import sys

from nodeproject.process import COLLECTOR
from nodeproject.profile import choose_settings

if __name__ == "__main__":
    # What is imported stays: looking through it for garbage takes a tenth of the start.
    gc.set_threshold(*COLLECTOR)
    choose_settings()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
