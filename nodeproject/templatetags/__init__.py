"""Template tags of the admin's first page."""
