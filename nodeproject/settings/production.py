"""The production profile: PostgreSQL and Redis, with processes that can be on several machines."""

from typing import Any

from nodeproject.settings.base import *  # noqa: F403  # a profile is the base plus differences
from nodeproject.settings.base import LOGGING, LOGIN_FAILURES
from nodeproject.settings.beat_tables import *  # noqa: F403
from nodeproject.settings.celery import *  # noqa: F403
from nodeproject.settings.databases import database, is_postgresql, replicas
from nodeproject.settings.flags import BadSetting
from nodeproject.settings.formats import broker_of
from nodeproject.settings.given import NODE

if not is_postgresql(NODE.database_url):
    raise BadSetting(
        f"NODE_DATABASE_URL is {'of another database' if NODE.database_url else 'missing'}; the "
        "production profile needs postgres://USER:PASSWORD@HOST:PORT/NAME"
    )

DATABASES = {"default": database(NODE), **replicas(NODE)}

METRICS_DIRECTORY = NODE.common.directory / "metrics"

# Django splits the location at commas and semicolons, which a password may have.
_LOCATION = NODE.redis_url.replace(",", "%2C").replace(";", "%3B")
_REDIS = {"BACKEND": "chaindb.redis_cache.RedisCache", "LOCATION": _LOCATION}
CACHES: dict[str, dict[str, Any]] = {
    "default": _REDIS,
    "filters": {**_REDIS, "KEY_PREFIX": "filters"},
    "logins": LOGIN_FAILURES,
}
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "chaindb.pubsub_layer.PubSubLayer",
        "CONFIG": {"url": NODE.redis_url},
    }
}

# An unavailable server is logged once at each end of the outage (`chaindb.servers`), however many operations fail.
LOGGING["filters"]["outages"] = {"()": "chaindb.outage_log.OutageFilter"}
LOGGING["handlers"]["console"]["filters"].insert(0, "outages")
LOGGING["loggers"]["psycopg.pool"] = {"level": "ERROR"}

CELERY_BROKER_URL, CELERY_BROKER_USE_SSL = broker_of(NODE.redis_url)
# Without emulated acknowledgements: kombu would keep a second list in Redis of the messages that a worker has
# taken, and restoring them when the connection is lost ends the worker. Messages lost at that moment are ticks
# or other periodic work, which is sent again anyway.
CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, Any] = {
    "ack_emulation": False,
    "socket_timeout": 5,
    "socket_connect_timeout": 1,
    # Waits between attempts to connect: an attempt and a wait take less than the 3 s after which an outage ends.
    # The waits do not grow (`nodeproject.processes.broker`), because one worker and one beat cause little load.
    "interval_start": 0.5,
    "interval_step": 0,
    "interval_max": 0.5,
}
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = (
    True  # only late-acknowledged ones: none
)
CELERY_BROKER_CONNECTION_MAX_RETRIES = None  # an outage may last
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
