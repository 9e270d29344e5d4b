"""Who is woken by a Celery task: the embedded profile's maker of blocks; PostgreSQL wakes production's."""

import pytest
from django.conf import settings

by_celery = pytest.mark.skipif(
    settings.NODE.profile == "production", reason="PostgreSQL wakes the maker of blocks"
)
by_postgresql = pytest.mark.skipif(
    settings.NODE.profile != "production", reason="a Celery task wakes the maker of blocks"
)
