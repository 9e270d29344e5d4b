"""Expected errors of interfaces in the reference's dialect: error objects with code -32000 and the error's own message.

The reference's errors have no codes. Its messages are those of the exceptions, prefixed with the operation of the method.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from jsonrpc.dispatch.values import refused
from jsonrpc.errors import JsonRpcError


class ExpectedErrors:
    """The exceptions that an interface reports with their own message. All others are unexpected.

    Args:
        classes: Base classes: all their subclasses are expected.
    """

    def __init__(self, classes: tuple[type[Exception], ...]) -> None:
        self._classes = classes

    def to_error_object(self, error: Exception) -> JsonRpcError | None:
        """Return the error object of an expected error, None for an unexpected one."""
        return refused(str(error)) if isinstance(error, self._classes) else None

    def behind(self, words: str, error: Exception) -> Exception:
        """Return an expected error as an error object with prefixed message; any other error unchanged."""
        expected = error if isinstance(error, JsonRpcError) else self.to_error_object(error)
        return error if expected is None else refused(f"{words}: {expected.message}")

    @contextmanager
    def saying(self, words: str) -> Iterator[None]:
        """Prefix the message of every expected error raised within; other errors pass unchanged.

        Raises:
            JsonRpcError: An expected error occurred.
        """
        try:
            yield
        except Exception as error:
            explained = self.behind(words, error)
            if explained is error:
                raise
            raise explained from error
