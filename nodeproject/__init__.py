"""Assembles the node: settings, paths, servers and workers. No other package imports it."""

from nodeproject.celery import app as celery_app

__all__ = ["celery_app"]
