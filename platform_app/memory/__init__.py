"""What a chain remembers of its rows: `versioned` the machinery, `stakers` what is remembered."""
