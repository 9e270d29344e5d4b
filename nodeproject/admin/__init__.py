"""The project's own pages of the admin, and its first page."""

from nodeproject.admin import entries, site

__all__ = ["entries", "site"]
