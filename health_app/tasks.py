"""Celery's door to health: the task calls a service and says what it did."""

from datetime import UTC, datetime

from celery import shared_task
from django.conf import settings

from health_app import services
from platform_app.apps import platform_chain


@shared_task(name="health_app.prune_history")
def prune_history() -> dict[str, int]:
    """Forget old changes of health checks, where NODE_HISTORY_HEALTH says so."""
    days = settings.NODE.history_health
    return {
        "forgotten": services.prune(platform_chain().db, days, datetime.now(UTC)) if days else 0
    }
