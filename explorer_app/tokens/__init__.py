"""What tokens tell of themselves: transfers read from logs, texts and numbers read from answers. Pure."""
