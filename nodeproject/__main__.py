"""`python -m nodeproject`: the command `firn` without its script, for who has an interpreter and no PATH."""

import sys

from nodeproject.cli import main

if __name__ == "__main__":
    sys.exit(main())
