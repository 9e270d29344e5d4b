"""Readers of arguments: JSON values in, Python values out."""
