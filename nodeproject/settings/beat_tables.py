"""Celery beat's tables and their admin pages, for nodes whose beat is a process of its own.

The schedule is `CELERY_BEAT_SCHEDULE` in `celery`; beat copies it into these tables, where an operator can change it.
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
