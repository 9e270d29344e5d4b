"""Builds the empty database that a new data directory begins with (`nodeproject.startup.empty_database`).

It runs the migrations of the embedded profile in a temporary data directory, whatever the environment says of a node
on this machine. An argument names another directory for the file than that in which nodes look for it.
"""

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main() -> None:
    """Build the file and print its path."""
    for name in [name for name in os.environ if name.startswith("NODE_")]:
        del os.environ[name]
    os.environ["DJANGO_SETTINGS_MODULE"] = "nodeproject.settings.embedded"
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as directory:
        os.environ["NODE_DATA_DIR"] = directory

        import django
        from django.conf import settings
        from django.core.management import call_command
        from django.db import connections

        django.setup()
        from nodeproject.startup.empty_database import DIRECTORY, prepare

        call_command("migrate", interactive=False, verbosity=0)
        connections.close_all()
        target = Path(sys.argv[1]) if len(sys.argv) > 1 else DIRECTORY
        print(prepare(Path(settings.DATABASES["default"]["NAME"]), target))


if __name__ == "__main__":
    main()
