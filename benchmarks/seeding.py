"""`python -m benchmarks.seeding SHAPE`: makes the data directory that NODE_DATA_DIR names."""

import json
import sys

import django

from benchmarks.platform_node import Shape
from nodeproject.profile import choose_settings


def main() -> None:
    """Make the P-Chain of a shape, which is given as JSON."""
    choose_settings()
    django.setup()
    # Only now: it imports models.
    from benchmarks import platform_state

    platform_state.make(Shape(**json.loads(sys.argv[1])))


if __name__ == "__main__":
    main()
