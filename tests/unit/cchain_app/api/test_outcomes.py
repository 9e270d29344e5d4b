"""The outcome of one call among several that are answered together."""

from typing import Any

import pytest
from django.core.exceptions import SynchronousOnlyOperation

from cchain_app.api.rpc import outcome
from chaindb.connections import WouldBlock
from jsonrpc.errors import invalid_params


def fail(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize("error", [invalid_params("no such height"), ArithmeticError()])
def test_an_error_is_its_own_calls(error: Exception) -> None:
    assert outcome(fail, (error,)) is error
    assert outcome(str, (7,)) == "7"


@pytest.mark.parametrize("error", [WouldBlock(), SynchronousOnlyOperation()])
def test_would_block_error_is_raised_to_the_caller(error: Exception) -> None:
    with pytest.raises(type(error)):
        outcome(fail, (error,))
