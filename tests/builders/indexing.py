"""A node that has much to answer, for what is written behind the blocks."""

from itertools import count

from chaindb.indexing import IndexingTime


def beside_answers(index: str) -> IndexingTime:
    """Return how long indexes may be written where one just was, beside a thread that does nothing but compute."""
    seconds, computed = count(0.0), count(0.0)
    made = IndexingTime("embedded", clock=lambda: next(seconds))
    made.beside(lambda: next(computed))
    made.seconds(index)
    return made
