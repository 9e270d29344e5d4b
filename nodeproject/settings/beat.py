"""Celery beat's schedule in the database, with its pages in the admin: for nodes whose beat is a process of its own.

The embedded profile takes the schedule from the settings. It needs neither these tables nor their models, which take a
tenth of its start.
"""

from nodeproject.settings.base import INSTALLED_APPS as _APPS
from nodeproject.settings.theme import UNFOLD, menu_item

INSTALLED_APPS = [*_APPS, "django_celery_beat"]
CELERY_BEAT_SCHEDULER = "nodeproject.processes.beat_rows:DatabaseScheduler"

UNFOLD["SIDEBAR"]["navigation"].insert(
    -1,
    {
        "title": "Schedule",
        "items": [
            menu_item("Periodic tasks", "schedule", "django_celery_beat", "periodictask"),
            menu_item("Intervals", "timer", "django_celery_beat", "intervalschedule"),
            menu_item("Crontabs", "calendar_month", "django_celery_beat", "crontabschedule"),
        ],
    },
)
