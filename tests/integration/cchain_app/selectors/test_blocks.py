"""The hard fork of the block after the head."""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from chaindb import clock


def test_next_fork_depends_on_the_clock(chain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    evm: EvmChain = chain.evm
    schedule = replace(evm.config.schedule, times={"shanghai": 0, "cancun": clock.now() + 1000})
    head = blocks.head(evm)

    with monkeypatch.context() as patched:
        patched.setattr(evm, "config", replace(evm.config, schedule=schedule))
        assert blocks.fork_of_next(evm, head) == "shanghai"
        clock.move(2000)
        assert blocks.fork_of_next(evm, head) == "cancun"


def test_clock_is_not_read_without_a_scheduled_fork(
    chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "offset", None)
    head = blocks.head(chain.evm)
    assert blocks.fork_of_next(chain.evm, head) == chain.evm.config.fork_at(1, 2**63)
