"""Which of a chain's heads were sent to subscribers. Used on one event loop. Pure."""

from collections.abc import Generator


class SentHeads:
    """The last head that was sent. Each head is sent once, in order, even if announcements were lost."""

    def __init__(self) -> None:
        self._sent: int | None = None
        self._target = -1
        self._sending = False

    def begin_at(self, number: int) -> None:
        """Note the head at the first subscription; only later heads will be sent."""
        if self._sent is None:
            self._sent = number

    def go_back(self, number: int) -> None:
        """Follow a chain that was reset to a lower height; this sends nothing."""
        if self._sent is not None and number < self._sent:
            self._sent = self._target = number

    def due(self, number: int) -> Generator[int, None, None]:
        """Yield the heights up to this one that must be sent; none if another call is sending them already.

        Requesting the next height confirms that the previous one was sent. A caller that closes the generator early
        leaves the remaining heights for later.
        """
        if self._sent is None:
            return  # there was no subscription yet
        self._target = max(self._target, number)
        if self._sending:
            return
        self._sending = True
        try:
            while self._sent < self._target:
                height = self._sent + 1
                yield height
                if self._sent == height - 1:  # otherwise the chain was rewound meanwhile
                    self._sent = height
        finally:
            self._sending = False
