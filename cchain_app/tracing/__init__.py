"""How traces are written down: from what an engine recorded to what tools read. Pure."""
