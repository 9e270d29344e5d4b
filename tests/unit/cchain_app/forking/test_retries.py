"""The failures of a remote node after which a request is repeated, and the delays."""

import pytest

from cchain_app.forking import retries


@pytest.mark.parametrize(
    ("code", "message", "again"),
    [
        (429, "", True),
        (-32005, "daily request count exceeded", True),
        (-32000, "Rate limit reached", True),
        (-32000, "header not found", True),
        (-32603, "Max retries exceeded", True),
        (-32000, "execution reverted", False),
        (3, "execution reverted: rates", False),
        (-32601, "the method does not exist", False),
    ],
)
def test_errors_that_may_pass(code, message, again):
    assert retries.is_error_worth_it(code, message) is again


@pytest.mark.parametrize(
    ("status", "again"),
    [(200, False), (401, False), (404, False), (429, True), (500, True), (503, True)],
)
def test_statuses_that_may_pass(status, again):
    assert retries.is_status_worth_it(status) is again


@pytest.mark.parametrize(
    ("message", "forgotten"),
    [
        ("missing trie node 1234 (path ) state 0xab is not available", True),
        ("historical state 0xab is not available", True),
        ("Historical state not available in path scheme yet", True),
        ("execution reverted", False),
    ],
)
def test_state_that_only_an_archive_has(message, forgotten):
    assert retries.is_forgotten(message) is forgotten


@pytest.mark.parametrize(
    ("given", "seconds"),
    [
        ("3", 3.0),
        ("0", 0.0),
        ("600", 60.0),
        ("-1", 1.5),
        (None, 1.5),
        ("Wed, 21 Oct 2026 07:28:00 GMT", 1.5),
    ],
)
def test_retry_after_wins_over_the_backoff(given, seconds):
    assert retries.seconds_until(given, 1.5) == seconds
