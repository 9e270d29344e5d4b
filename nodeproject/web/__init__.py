"""The node over HTTP: its endpoints, pages and servers' protocols."""
