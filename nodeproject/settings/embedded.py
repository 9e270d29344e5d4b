"""The embedded profile: one process, SQLite, and in-memory broker and channel layer."""

from typing import Any

from nodeproject.settings.base import *  # noqa: F403  # a profile is the base plus differences
from nodeproject.settings.base import LOGIN_FAILURES
from nodeproject.settings.celery import *  # noqa: F403
from nodeproject.settings.databases import database
from nodeproject.settings.given import NODE

DATABASES = {"default": database(NODE)}

_MEMORY = "nodeproject.web.memory_cache.MemoryCache"
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": _MEMORY,
        # Two for each user of the keystore: a client that guesses passwords must not remove a lock by
        # filling this cache. There are few other entries, apart from limits by address.
        "OPTIONS": {"MAX_ENTRIES": 2 * NODE.platform.keystore_users + 10_000},
    },
    "filters": {
        "BACKEND": _MEMORY,
        "LOCATION": "filters",
        # This cache drops some of its entries when it is full; the index of filters by owner removes excess
        # ones earlier, except those that threads add concurrently.
        "OPTIONS": {"MAX_ENTRIES": NODE.cchain.filters + 1000},
    },
    "logins": LOGIN_FAILURES,
}
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}
}

WHITENOISE_AUTOREFRESH = True  # developers edit files of a checkout while its node runs

CELERY_BROKER_URL = "memory://localhost"
CELERY_BROKER_TRANSPORT = "nodeproject.processes.broker:Transport"
