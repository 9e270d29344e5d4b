"""Long tasks run in the worker itself, or in a separate thread if the worker also produces the blocks."""

import threading
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from cchain_app.selectors import blocks
from chaindb import indexing
from chaindb.indexing import IndexingTime, LaggingIndex, SingleRun
from explorer_app import tasks
from explorer_app.selectors import verified
from explorer_app.services import indexes, verification
from tests.builders.modules import module_with


class Work:
    """A stand-in for the work, which runs until the test releases it."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.let_go = threading.Event()
        self.threads: list[threading.Thread] = []

    def __call__(self, _about: Any, **_options: Any) -> int:
        self.threads.append(threading.current_thread())
        self.begun.set()
        assert self.let_go.wait(60)
        return 3


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    made = Work()
    monkeypatch.setattr(verification, "work", made)
    monkeypatch.setattr(indexes, "index_tokens", made)
    monkeypatch.setattr(verified, "any_waits", lambda _chain: True)
    return made


def site(monkeypatch: pytest.MonkeyPatch, profile: str, *, has_evm: bool = True) -> Any:
    made = SimpleNamespace(
        node=SimpleNamespace(profile=profile),
        indexes_tokens=True,
        is_of_cchain=True,
        has_evm=has_evm,
        evms=[],
        look_for_chains=lambda: None,
        platform=SimpleNamespace(db=SimpleNamespace(connection=SimpleNamespace(vendor="sqlite"))),
        turns=Counter(),
        verifying=SingleRun("verification"),
        token_index=LaggingIndex("tokens"),
        evm=SimpleNamespace(is_of_subnet=False, fork=None, indexing=IndexingTime(profile)),
    )
    monkeypatch.setattr(tasks, "explorer", lambda: made)
    return made


def test_in_production_the_worker_verifies(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    site(monkeypatch, "production")
    work.let_go.set()

    assert tasks.verify() == {"verifications": 3}
    assert work.threads == [threading.current_thread()]


def test_in_the_embedded_profile_a_thread_works_beside_the_worker(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = site(monkeypatch, "embedded")

    tasks.verify()
    assert work.begun.wait(60)
    tasks.verify()  # the thread is still busy

    (thread,) = work.threads
    assert thread is not threading.current_thread()
    work.let_go.set()
    thread.join(60)
    assert not made.verifying.is_running


def test_without_the_c_chain_there_is_nothing_to_verify(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    site(monkeypatch, "embedded", has_evm=False)

    assert tasks.verify() == {"verifications": 0}
    assert not work.threads


@pytest.mark.parametrize("profile", ["embedded", "production"])
def test_the_worker_indexes_tokens_of_a_chain_of_its_own(
    work: Work, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    site(monkeypatch, profile)
    work.let_go.set()

    assert tasks.index_tokens() == {"blocks": 3}
    assert work.threads == [threading.current_thread()]


def test_a_thread_indexes_tokens_of_a_fork_so_that_blocks_do_not_wait_for_its_remote_node(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = site(monkeypatch, "embedded")
    made.evm.fork = object()

    assert tasks.index_tokens() == {"blocks": 0}
    assert work.begun.wait(60)
    tasks.index_tokens()  # the thread is still busy

    (thread,) = work.threads
    assert thread is not threading.current_thread()
    work.let_go.set()
    thread.join(60)
    assert not made.token_index.is_running


def test_without_pending_verifications_no_thread_starts(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    site(monkeypatch, "production")
    monkeypatch.setattr(verified, "any_waits", lambda _chain: False)

    assert (tasks.verify(), work.threads) == ({"verifications": 0}, [])


def test_failed_thread_start_does_not_block_later_ones(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = site(monkeypatch, "embedded")
    made.evm.fork = object()
    with monkeypatch.context() as patched:
        patched.setattr(indexing, "threading", module_with(threading, Thread=_no_thread))
        with pytest.raises(RuntimeError, match="new thread"):
            tasks.index_tokens()

    work.let_go.set()
    tasks.index_tokens()
    assert work.begun.wait(60)


def _no_thread(**_: object) -> None:
    raise RuntimeError("can't start new thread")


def test_each_of_many_chains_gets_its_turn(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the time of the calls is: the task that sums up runs every five seconds."""
    work.let_go.set()
    made = site(monkeypatch, "production", has_evm=False)
    made.evms = [SimpleNamespace(name=f"{number}") for number in range(12)]
    made.of = lambda chain: SimpleNamespace(evm=chain)
    asked: list[str] = []
    monkeypatch.setattr(verified, "any_waits", lambda chain: asked.append(chain.name))
    for _ in range(2 * tasks.TURNS):
        tasks.verify()
    assert set(asked) == {f"{number}" for number in range(12)}
    assert len(asked) == 2 * tasks.TURNS * 3, "a fifth, rounded up, in each call"


def test_a_failing_chain_leaves_the_others_their_turns(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    work.let_go.set()
    made = site(monkeypatch, "production")
    broken = SimpleNamespace(name="broken", is_of_subnet=True)
    made.evms = [made.evm, broken]
    made.of = lambda chain: SimpleNamespace(evm=chain, is_of_cchain=False, done={})

    def fail(_chain: Any) -> Any:
        raise OSError("its disk is gone")

    monkeypatch.setattr(blocks, "catch_up", fail)
    with pytest.raises(OSError, match="its disk is gone"):
        tasks.index_tokens()
    assert len(work.threads) == 1, "the C-Chain's index was written"
