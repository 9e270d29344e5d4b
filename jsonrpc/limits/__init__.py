"""Limits per client and per process: rates, memory, connections and time on the event loop."""
