"""In-memory caches of a chain, besides its rows.

`stakers` caches staker sets, `versioned` keeps that cache from being older than the rows, and `answers` caches
encoded answers.
"""
