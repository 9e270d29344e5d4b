"""Parsing of token data: transfers from logs, texts and numbers from answers of contracts. Pure."""
