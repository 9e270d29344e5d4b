"""Writes the explorer's tables; no other package writes them."""
