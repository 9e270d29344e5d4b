#!/usr/bin/env python
"""The command line: Django's commands and the node's own. The profile chooses the settings."""

import sys

from nodeproject.cli import main

if __name__ == "__main__":
    arguments = sys.argv[1:]
    # Without a command this is Django's, and says which commands there are.
    main(
        ["help", *arguments[1:]] if arguments[:1] in ([], ["-h"], ["--help"]) else arguments,
        with_django=True,
    )
