"""`python -m nodeproject`: the command `nunatak` for environments where its script is not in the PATH."""

from nodeproject.cli import main

if __name__ == "__main__":
    main(program="nunatak")
