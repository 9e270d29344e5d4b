"""Writes the database tables of `network_app`; no other code writes them."""
