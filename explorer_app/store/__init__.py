"""Writes the explorer's rows; nobody else does."""
