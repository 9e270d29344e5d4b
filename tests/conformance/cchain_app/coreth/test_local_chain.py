"""The blocks of a network that ran, executed to their roots.

The header of each block has the roots of its state and receipts, so a block that is accepted was executed equally.
"""

import pytest

from cchain_app.blocks.receipt import encode_receipt
from cchain_app.evm.coreth import stored_slot
from cchain_app.rules.coreth.gas_state import GasState
from cchain_app.rules.coreth.min_delay import delay_of
from chainvm.port import BlockContext
from primitives import rlp
from primitives.evm import Address, Slot
from primitives.upgrades import OWN_NETWORK
from tests.builders.coreth import FAR, MemoryCoreth, local_genesis, local_parameters
from tests.conformance.coreth_vectors import data, document
from tests.searching import seeds


def _last(engine: str) -> int:
    """Return the last block to execute.

    Those after 52 fill their gas with loops, which the reference engine executes for minutes: `make search` does.
    """
    return 84 if engine == "native" else len(seeds(53, thorough=85)) - 1


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_blocks_are_executed_to_their_roots(engine: str) -> None:
    recorded = document("local_chain")
    chain = MemoryCoreth(local_genesis(), OWN_NETWORK, local_parameters(), engine_name=engine)
    last = _last(engine)
    entries = recorded["blocks"][: last + 1]
    assert entries[-1]["number"] == last
    assert chain.blocks[0].hash == data(entries[0]["hash"])
    proofs = [proof for proof in recorded["proofs"] if proof["number"] <= last]
    for entry in entries[1:]:
        # Other chains' exports are not recorded, so imports are taken as decided.
        made = chain.accept(data(entry["blockRLP"]), BlockContext(FAR, decided=True)).block
        assert made.hash == data(entry["hash"])
        assert made.raw == data(entry["blockRLP"])
        receipts = [encode_receipt(receipt) for receipt in made.receipts]
        assert receipts == [data(raw) for raw in entry["receiptsRaw"]]
        gas = entry["gas"]
        state = GasState.read(made.header.extra_data)
        assert (state.capacity, state.excess) == (
            int(gas["capacityAfter"]),
            int(gas["excessAfter"]),
        )
        delay = getattr(made.header, "min_delay_excess", None)
        assert delay is not None
        assert delay_of(delay) == int(gas["minDelayMilliseconds"])
        for proof in proofs:
            if proof["number"] == entry["number"]:
                _compare(chain, proof)
    assert {proof["number"] for proof in proofs} >= {1, 21, 42}


def _compare(chain: MemoryCoreth, proof: dict[str, object]) -> None:
    """Compare a proof of the reference with the head's."""
    expected = proof["proof"]
    keys, address = proof["storageKeys"], proof["address"]
    assert isinstance(expected, dict)
    assert isinstance(keys, list)
    slots = [Slot(data(key)) for key in keys]
    head = chain.blocks[-1]
    account = Address(data(str(address)))
    found = chain.tries.cached.prove(head.header.state_root, account, slots, chain.nodes)
    assert list(found.account_proof) == [data(node) for node in expected["accountProof"]]
    for slot, (value, nodes), shown in zip(
        slots, found.storage, expected["storageProof"], strict=True
    ):
        assert int.from_bytes(value, "big") == int(shown["value"], 16)
        assert list(nodes) == [data(node) for node in shown["proof"]]
        assert chain.state.storage(account, stored_slot(slot)) == value
    leaf = proof.get("accountLeafItems")
    if isinstance(leaf, list) and found.account is not None:
        encoded = rlp.split(rlp.read_only_item(found.account_proof[-1]), 2)[1]
        assert rlp.read_only_item(encoded) == b"".join(map(data, leaf))
