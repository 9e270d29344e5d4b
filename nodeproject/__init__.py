"""Assembles the node: settings, paths, servers and workers. No other package imports it."""
