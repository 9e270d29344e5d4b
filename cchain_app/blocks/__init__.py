"""Headers, receipts, blooms and roots as values. Pure."""
