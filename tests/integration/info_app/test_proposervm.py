"""`proposervm.*` at the paths of each chain: what the next outer block would contain."""

import json
from typing import Any

import pytest
from django.test import Client

from primitives.ids import PRIMARY_NETWORK_ID
from tests.integration.platform_app.conftest import PChain

NO_EPOCH = {"number": "0", "startTime": "0", "pChainHeight": "0"}


def ask(path: str, method: str) -> Any:
    body = {"jsonrpc": "2.0", "id": 1, "method": f"proposervm.{method}", "params": {}}
    client = Client(headers={"host": "localhost"})
    return json.loads(client.post(path, json.dumps(body), "application/json").content)


@pytest.mark.parametrize("chain", ["P", "platform", "X", PRIMARY_NETWORK_ID])
def test_each_chain_states_the_epoch_of_its_next_block(pchain: PChain, chain: str) -> None:
    path = f"/ext/bc/{chain}/proposervm"

    assert ask(path, "getCurrentEpoch")["result"] == NO_EPOCH
    assert ask(path, "getProposedHeight")["result"] == {"height": "0"}


def test_unknown_methods_are_refused_as_by_the_reference(pchain: PChain) -> None:
    assert ask("/ext/bc/P/proposervm", "getBlock")["error"]["message"] == (
        'rpc: can\'t find method "proposervm.GetBlock"'
    )
