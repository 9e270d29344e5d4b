"""Several processes run the indexer at the same time: each transfer is written once."""

import threading

from django.db import connections

from explorer_app import models
from tests.builders import puppet
from tests.integration.conftest import Chain
from tests.integration.explorer_app.token_chain import (
    NOBODY,
    RECIPIENT,
    TokenChain,
    erc20,
    everything,
    forget,
    used,
)

RUNS = 12
WRITERS = 3


def test_concurrent_writers_write_each_row_once(shared_chain: Chain) -> None:
    tokens = TokenChain(shared_chain)
    used(tokens)
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, *(erc20(NOBODY, RECIPIENT, value) for value in range(1, 41)))
    ready, faults = threading.Barrier(WRITERS), []

    def run() -> None:
        try:
            ready.wait()
            for _ in range(RUNS):
                tokens.index(seconds=0)
        except Exception as fault:  # the test's thread reports it
            faults.append(fault)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run) for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tokens.index()
    written = everything()

    assert faults == []
    assert models.TokenTransfer.objects.count() == 47
    forget()
    tokens.index()
    assert everything() == written
