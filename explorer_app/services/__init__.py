"""The explorer's use cases that write to the database: each write is one transaction."""
