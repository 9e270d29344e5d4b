"""In-memory caches of a chain, besides its rows.

`stakers` caches staker sets, never older than the rows, and `answers` caches encoded answers.
"""
