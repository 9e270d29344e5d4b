"""Celery's settings: queues, limits and the schedule, reviewed like code."""

from typing import Any

from nodeproject.settings.given import NODE

CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_TASK_ROUTES = {
    f"{app}.*": {"queue": "chain"} for app in ("cchain_app", "platform_app", "xchain_app")
}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_TIME_LIMIT = 600
CELERY_TASK_ACKS_LATE = False
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_TIMEZONE = "UTC"
CELERY_ENABLE_UTC = True

# The tasks check NODE_MINING themselves: beat keeps its schedule in the database, where an entry
# would survive a change of the setting.
CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    "cchain-tick": {
        "task": "cchain_app.tick",
        "schedule": NODE.cchain.block_interval if NODE.cchain.mines_by_clock else 1.0,
        # A tick that no worker took in time is useless: without expiry, an hour without a worker
        # would be followed by a burst of thousands of blocks. (Each scheduler has its own option name.)
        "options": {"expires": 1.0, "expire_seconds": 1},
    },
    # Staking periods begin and end by the clock, even without new transactions.
    "platform-tick": {
        "task": "platform_app.tick",
        "schedule": 1.0,
        "options": {"expires": 1.0, "expire_seconds": 1},
    },
    "xchain-tick": {
        "task": "xchain_app.tick",
        "schedule": 1.0,
        "options": {"expires": 1.0, "expire_seconds": 1},
    },
    "network-track-uptime": {"task": "network_app.track_uptime", "schedule": 5.0},
    "network-measure-bootstrap": {
        "task": "network_app.measure_bootstrap",
        "schedule": 2.0,
        "options": {"expires": 2.0, "expire_seconds": 2},
    },
    "network-prune-peers": {"task": "network_app.prune_peers", "schedule": 3600.0},
    # By the clock instead of per block: blocks do not wait for it, and it writes a second's blocks together.
    "cchain-index-calls": {
        "task": "cchain_app.index_calls",
        "schedule": 1.0,
        "options": {"expires": 1.0, "expire_seconds": 1},
    },
    # Likewise. It is not a task of the chain: the producer process of the production profile does not run it.
    "explorer-index-tokens": {
        "task": "explorer_app.index_tokens",
        "schedule": 1.0,
        "options": {"expires": 1.0, "expire_seconds": 1},
    },
    # Less often: its pages are not about single blocks, and advance the summaries themselves.
    "explorer-summarise": {
        "task": "explorer_app.summarise",
        "schedule": 5.0,
        "options": {"expires": 5.0, "expire_seconds": 5},
    },
    "cchain-prune-history": {
        "task": "cchain_app.prune_history",
        "schedule": 2.0,
        "options": {"expires": 2.0, "expire_seconds": 2},
    },
    "health-prune-history": {"task": "health_app.prune_history", "schedule": 3600.0},
    # Also sent with each submission; this entry finds jobs left by a dead process or never sent by the broker.
    "explorer-verify": {
        "task": "explorer_app.verify",
        "schedule": 2.0,
        "options": {"expires": 2.0, "expire_seconds": 2},
    },
    "cchain-expire-pool": {"task": "cchain_app.expire_pool", "schedule": 60.0},
}
if "X" not in NODE.common.chains:
    del CELERY_BEAT_SCHEDULE["xchain-tick"]
if "C" not in NODE.common.chains:
    for _name in [
        item for item in CELERY_BEAT_SCHEDULE if item.startswith(("cchain-", "explorer-"))
    ]:
        del CELERY_BEAT_SCHEDULE[_name]
