"""Template tags and filters of the explorer."""
