"""Settings of the tests: the embedded profile, or PostgreSQL and Redis if NODE_PROFILE says so."""

import atexit
import os
import shutil
import tempfile
from copy import deepcopy

if "NODE_DATA_DIR" not in os.environ:
    os.environ["NODE_DATA_DIR"] = tempfile.mkdtemp(prefix="node-test-")
    atexit.register(shutil.rmtree, os.environ["NODE_DATA_DIR"], ignore_errors=True)

from nodeproject.settings.given import NODE  # after the data directory is chosen

if NODE.common.profile == "production":
    from nodeproject.settings.production import *  # noqa: F403
    from nodeproject.settings.production import DATABASES
else:
    from nodeproject.settings import beat_tables
    from nodeproject.settings.embedded import *  # noqa: F403
    from nodeproject.settings.embedded import DATABASES

    # The pages of the schedule are tested on both databases.
    INSTALLED_APPS = beat_tables.INSTALLED_APPS

    # A file, because Django's default of an in-memory database cannot be shared with a second thread.
    DATABASES["default"]["TEST"] = {"NAME": str(NODE.common.directory / "test.sqlite3")}

# For a second chain; only created when a test requests it.
DATABASES["second"] = deepcopy(DATABASES["default"])
if NODE.common.profile == "production":
    DATABASES["second"]["TEST"] = {"NAME": f"test_second_{DATABASES['default']['NAME']}"}
else:
    DATABASES["second"]["TEST"] = {"NAME": str(NODE.common.directory / "test-second.sqlite3")}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
# Each client of a test has its own middleware, which would otherwise scan all static files again.
WHITENOISE_AUTOREFRESH = True
