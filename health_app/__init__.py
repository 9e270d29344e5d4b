"""Health of the node: six checks that run in the background, their history, and the health endpoints.

`rules` define health and the texts of failures, `checks` take the measurements, `reporter` runs the checks and
caches the results, `services` record each change. Requests are answered from memory, so they work while the
database is away; `api` serves them at `/ext/health`.
"""
