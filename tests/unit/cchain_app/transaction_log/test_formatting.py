"""Messages with placeholders, in cases where Node's util.format has no counterpart."""

import pytest

from cchain_app.transaction_log.formatting import format_message


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ((), ""),
        (("%d of %s", 3), "3 of %s"),
        (("%s and %d", 2**256 - 1, -(2**255)), f"{2**256 - 1} and {-(2**255)}"),
        (("%i", 2**200), str(2**200)),
        (("%j %o", 2**200, 2**70), f"{2**200} {2**70}"),
        (("%x %x %x", 255, -255, "0xAb"), "0xff -0xff 0xAb"),
        (("%x", True), "true"),
        ((2**90, True, "text"), f"{2**90} true text"),
        (((1, "two", (False,)), "x"), "[1, two, [false]] x"),
    ],
)
def test_integers_keep_all_their_digits(values, text) -> None:
    assert format_message(values) == text
