"""Settings of the tests: the embedded profile, or PostgreSQL and Redis where NODE_PROFILE says so."""

import os
import tempfile

os.environ.setdefault("NODE_DATA_DIR", tempfile.mkdtemp(prefix="node-test-"))

from nodeproject.settings.node import NODE  # after the data directory is chosen

if NODE.profile == "production":
    from nodeproject.settings.production import *  # noqa: F403
else:
    from nodeproject.settings.embedded import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
