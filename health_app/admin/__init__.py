"""Health in the admin: `history` lists each change of a check, `dashboard` sums the checks up."""

from health_app.admin.history import HealthChangeAdmin

__all__ = ["HealthChangeAdmin"]
