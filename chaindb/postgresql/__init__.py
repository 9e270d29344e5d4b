"""Django's PostgreSQL backend with bounded waits for a server that is unreachable or hangs."""
