"""A network of Snowman engines in one process: virtual time, seeded chance, no sockets."""
