"""Puts the node together: settings, paths, servers and workers. Nothing imports it."""

from nodeproject.celery import app as celery_app

__all__ = ["celery_app"]
