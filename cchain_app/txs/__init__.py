"""Transactions as values: types 0, 1, 2 and 4, their encoding and their sender. Pure."""
