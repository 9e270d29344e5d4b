"""Markers by wakeup: a Celery task wakes the embedded profile's block producer, PostgreSQL the production one's."""

import pytest
from django.conf import settings

by_celery = pytest.mark.skipif(
    settings.NODE.common.profile == "production", reason="PostgreSQL wakes the maker of blocks"
)
by_postgresql = pytest.mark.skipif(
    settings.NODE.common.profile != "production", reason="a Celery task wakes the maker of blocks"
)
