"""Rules of the additional features of a development chain, as values. Pure; callers check permissions."""
