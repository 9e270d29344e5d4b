"""`python -m nodeproject`: the command `nunatak` without its script, for who has an interpreter and no PATH."""

from nodeproject.cli import main

if __name__ == "__main__":
    main(program="nunatak")
