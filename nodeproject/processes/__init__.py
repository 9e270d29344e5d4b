"""The processes and threads of a node: web server, producer, workers and local networks."""
