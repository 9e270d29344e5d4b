"""`python -m benchmarks.seeding SUBJECT SHAPE`: makes the data directory that NODE_DATA_DIR names."""

import json
import sys

import django

from benchmarks.network_nodes import History
from benchmarks.platform_node import Shape
from nodeproject.profile import choose_settings


def main() -> None:
    """Make what a shape, which is given as JSON, says of a P-Chain or of a history of both chains."""
    subject, shape = sys.argv[1:]
    choose_settings()
    django.setup()
    # Only now: they import models.
    if subject == "platform":
        from benchmarks import platform_state

        platform_state.make(Shape(**json.loads(shape)))
    else:
        from benchmarks import network_state

        network_state.make(History(**json.loads(shape)))


if __name__ == "__main__":
    main()
