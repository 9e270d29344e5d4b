"""What a chain remembers besides its rows.

`stakers` is what it remembers of them, `versioned` how that is never older than the rows; `answers` is what was
asked and answered.
"""
