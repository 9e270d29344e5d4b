"""Health in the admin: `history` lists each change of a check and summarizes the checks on the first page."""

from health_app.admin.history import HealthChangeAdmin

__all__ = ["HealthChangeAdmin"]
