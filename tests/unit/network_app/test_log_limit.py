"""A log line about the same subject is repeated at most once a minute."""

from network_app.peers.throttle import MAX_KEYS, LogLimit


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_each_key_is_logged_once_a_minute() -> None:
    clock = Clock()
    limit = LogLimit(clock)

    assert limit.allows("clock")
    assert limit.allows("port")
    clock.now = 59.9
    assert not limit.allows("clock")
    clock.now = 60.0
    assert limit.allows("clock")
    assert not limit.allows("clock")


def test_keys_without_end_are_not_kept() -> None:
    limit = LogLimit(Clock())

    for number in range(2 * MAX_KEYS):
        assert limit.allows(number)

    assert len(limit._logged) == MAX_KEYS
    assert not limit.allows(2 * MAX_KEYS - 1)
