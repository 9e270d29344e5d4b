"""Celery tasks of the health app: each calls a service and returns its result."""

from datetime import UTC, datetime

from celery import shared_task
from django.conf import settings

from health_app import services
from platform_app.apps import platform_chain


@shared_task(name="health_app.prune_history")
def prune_history() -> dict[str, int]:
    """Delete old changes of health checks, if NODE_HISTORY_HEALTH sets a limit."""
    days = settings.NODE.health.history_health
    return {
        "forgotten": services.prune(platform_chain().db, days, datetime.now(UTC)) if days else 0
    }
