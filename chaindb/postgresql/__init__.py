"""Django's PostgreSQL backend for a server that may be away or hang: no call waits for it for long."""
