"""How far a chain's heads were sent to those who listen. Used on one event loop. Pure."""

from collections.abc import Generator


class SentHeads:
    """The last head that was sent: each goes out once, in order, also where pointers were lost."""

    def __init__(self) -> None:
        self._sent: int | None = None
        self._target = -1
        self._sending = False

    def begin_at(self, number: int) -> None:
        """Take note of the head at the first subscription: what follows it will be sent."""
        if self._sent is None:
            self._sent = number

    def go_back(self, number: int) -> None:
        """Go back with a chain that was reset to an earlier height; nothing is sent for that."""
        if self._sent is not None and number < self._sent:
            self._sent = self._target = number

    def due(self, number: int) -> Generator[int, None, None]:
        """Give the heights up to this one that are to be sent; nothing where they are being sent already.

        A height was sent when the next one is asked for. Who closes it before leaves the rest for later.
        """
        if self._sent is None:
            return  # nobody has ever listened
        self._target = max(self._target, number)
        if self._sending:
            return
        self._sending = True
        try:
            while self._sent < self._target:
                height = self._sent + 1
                yield height
                if self._sent == height - 1:  # else the chain went back meanwhile
                    self._sent = height
        finally:
            self._sending = False
