"""How the explorer's templates write values."""
