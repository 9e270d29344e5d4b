"""Django's SQLite backend, faster for statements that are repeated."""
