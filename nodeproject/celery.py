"""The Celery app: `celery -A nodeproject.celery worker` in production, a thread in the embedded profile."""

from celery import Celery

from nodeproject.profile import choose_settings

choose_settings()

app = Celery("node")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A block takes a few milliseconds: a new connection for each task would double that. Connections
# of PostgreSQL come from the pool and go back to it after each transaction's task anyway.
app.conf.CELERY_DB_REUSE_MAX = 1_000_000
app.autodiscover_tasks()
