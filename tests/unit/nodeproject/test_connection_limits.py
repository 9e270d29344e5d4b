"""The limit of a process's connections: as many as its file descriptors allow, less a reserve."""

import resource

import pytest

from nodeproject.startup import process
from tests.builders.modules import module_with


@pytest.fixture
def descriptors(monkeypatch: pytest.MonkeyPatch):
    def allow(number: int) -> None:
        limited = module_with(resource, getrlimit=lambda _kind: (number, number))
        monkeypatch.setattr(process, "resource", limited)

    return allow


@pytest.mark.parametrize("number", [256, 1024, 4096, 20_000, 524_288, resource.RLIM_INFINITY])
def test_a_whole_backlog_and_files_find_descriptors_beside_all_connections(
    descriptors, number: int
) -> None:
    descriptors(number)
    for asked in (0, 1_000_000_000):
        limits = process.connection_limits(asked, 0)
        if number > 400:
            assert 200 <= limits.maximum + process.backlog() <= (number % (1 << 40)) - 256
        assert 1 <= limits.of_address <= max(1, limits.maximum * 3 // 4)


def test_ten_thousand_sockets_are_allowed_if_descriptors_suffice(descriptors) -> None:
    descriptors(524_288)
    limits = process.connection_limits(0, 0)
    assert (limits.maximum, limits.of_address) == (16_384, 12_288)


def test_the_operators_value_takes_precedence(descriptors) -> None:
    descriptors(524_288)
    limits = process.connection_limits(100_000, 50)
    assert (limits.maximum, limits.of_address) == (100_000, 50)
    assert process.connection_limits(10, 50).of_address == 10


def test_descriptor_limit_is_raised_to_the_hard_limit() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 500), before[1]))
    try:
        process.raise_descriptors()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    ("kernel", "soft", "reached"),
    [(65_536, 256, 65_536), (10_240, 256, 10_240), (10_240, 20_000, 20_000)],
)
def test_a_kernel_that_refuses_no_limit_gets_a_number(
    monkeypatch: pytest.MonkeyPatch, kernel: int, soft: int, reached: int
) -> None:
    limits = [(soft, resource.RLIM_INFINITY)]

    def set_limit(_kind: int, wanted: tuple[int, int]) -> None:
        if wanted[0] == resource.RLIM_INFINITY or wanted[0] > kernel:
            raise ValueError
        limits.append(wanted)

    limited = module_with(resource, getrlimit=lambda _kind: limits[-1], setrlimit=set_limit)
    monkeypatch.setattr(process, "resource", limited)

    process.raise_descriptors()

    assert limits[-1] == (reached, resource.RLIM_INFINITY)
