"""The processes and threads of a node: web server, producer, workers, readers and local networks."""
