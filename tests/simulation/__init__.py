"""A network of Snowman engines in one process: virtual time, seeded randomness, no sockets."""
