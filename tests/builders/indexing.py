"""A node that is busy with requests, for code that writes indexes in the background."""

from itertools import count

from chaindb.indexing import IndexingTime


def beside_answers(index: str) -> IndexingTime:
    """Return the time budget of an index just written, while another thread computes constantly."""
    seconds, computed = count(0.0), count(0.0)
    made = IndexingTime("embedded", clock=lambda: next(seconds))
    made.beside(lambda: next(computed))
    made.seconds(index)
    return made
