"""Reads rows of the X-Chain for responses, and returns plain values."""
