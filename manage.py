#!/usr/bin/env python
"""The command line: Django's commands and the node's own. The profile chooses the settings."""

import sys

from nodeproject.profile import choose_settings

if __name__ == "__main__":
    choose_settings()
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
