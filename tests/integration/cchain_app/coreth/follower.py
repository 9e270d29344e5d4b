"""A node with the C-Chain of a network of avalanchego in the database, for the tests of its methods and rows."""

import json
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from cchain_app.api import EvmRpc, registry
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.chain import EvmChain
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.services.genesis import load_genesis
from cchain_app.services.runtime import EvmRuntime
from chaindb.database import Database
from chainvm.port import BlockContext
from jsonrpc.dispatch.dispatcher import Dispatcher
from primitives.upgrades import OWN_NETWORK, UpgradeTimes
from tests.builders.coreth import local_parameters, nobody_signs
from tests.builders.node_settings import updated
from tests.conformance.coreth_vectors import data

NOW = 4_000_000_000


def chain_of(
    genesis: bytes,
    *,
    parameters: AtomicParameters | None = None,
    upgrades: UpgradeTimes = OWN_NETWORK,
    **given: Any,
) -> EvmChain:
    """Return the chain with a genesis file and further settings; without parameters those of the local network."""
    node = updated(settings.NODE, **{"mining": "manual", **given})
    parameters = parameters or local_parameters()
    return EvmChain(
        node.common,
        node.cchain,
        Database(),
        aliases=("C",),
        blockchain_id=lambda: parameters.blockchain_id,
        genesis_file=lambda: genesis,
        atomic=lambda: parameters,
        upgrades=lambda: upgrades,
        identity=WarpIdentity(
            parameters.network_id, lambda: parameters.blockchain_id, nobody_signs
        ),
    )


@dataclass
class Follower:
    """A node that follows the network."""

    chain: EvmChain

    def __post_init__(self) -> None:
        self.genesis = load_genesis(self.chain)
        self.runtime = EvmRuntime(self.chain)
        self.dispatcher = Dispatcher(registry(EvmRpc(self.runtime)))

    def follow(self, entries: list[Any]) -> None:
        vm = self.runtime.vm
        found = [vm.parse(data(entry.get("blockRLP") or entry["rlp"])) for entry in entries]
        context = BlockContext(NOW, decided=True)
        vm.verify_all(found, [context] * len(found))
        vm.accept([block.block_id for block in found], written=lambda _: None)

    def ask(self, method: str, *params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.dispatcher.answer(json.dumps(body).encode(), None)
        assert answer is not None
        found = json.loads(answer)
        return found["error"] if "error" in found else found["result"]
