"""An import before its export: it is refused, and it is valid as soon as the other chain has accepted the export."""

from itertools import permutations
from random import Random

import pytest

from chainvm.errors import NotYetValid
from chainvm.port import BlockContext
from chainvm.shared_memory import AtomicRequests
from nodeproject.apps import this_node
from platform_app.config import UNIT
from primitives.ids import ID
from shared_app.models import EarlyImport, SharedOutput
from shared_app.store import SharedRows
from tests.integration.cchain_app.atomic.conftest import EWOQ_ADDRESS, Both
from tests.integration.cchain_app.atomic.three_chains import NAMES, REFUSALS, ThreeChains
from utxo.components import UTXO, OutputOwners, TransferOutput

WORDS = {
    "P": "failed to get shared memory: not found",
    "X": "not found",
    "C": "failed to fetch import UTXOs from {source} due to: not found",
}
"""How each chain refuses such an import."""


class ExportedOutput:
    """An output that another chain exports, and takes back as if the export had not been accepted."""

    def __init__(self, chains: ThreeChains, name: str, source: str) -> None:
        output = TransferOutput(5 * UNIT, OutputOwners(0, 1, (EWOQ_ADDRESS,)))
        self.utxo = UTXO(ID(b"\x17" * 32), 0, chains.p.asset_id, output)
        self._ids = chains.ids[name], chains.ids[source]

    def come(self) -> None:
        """The other chain accepts the export."""
        destination, source = self._ids
        self._apply(source, AtomicRequests(destination, put=(self.utxo,)))

    def go(self) -> None:
        """The other chain has not accepted the export."""
        destination, source = self._ids
        self._apply(destination, AtomicRequests(source, remove=(self.utxo.utxo_id,)))

    def _apply(self, chain_id: ID, request: AtomicRequests) -> None:
        db = this_node().database
        with db.atomic():
            SharedRows(db).apply(chain_id, [request], 1)


@pytest.mark.parametrize(("name", "source"), list(permutations(NAMES, 2)))
def test_an_import_is_valid_as_soon_as_its_export_is_accepted(
    both: Both, name: str, source: str
) -> None:
    chains = ThreeChains(both, Random(1))
    output = ExportedOutput(chains, name, source)
    output.come()
    tx = chains.make_import(name, source, [output.utxo])
    output.go()

    for _ in range(2):  # a reason that was remembered would outlive the export
        with pytest.raises(REFUSALS) as refused:
            chains.submit(name, tx)
        assert str(refused.value).endswith(WORDS[name].format(source=chains.ids[source]))
    output.come()
    chains.submit(name, tx)

    assert chains.runtime(name).consensus.produce(now=chains.later()) is not None
    assert chains.moved()[name] == 1
    assert not SharedOutput.objects.exists()


@pytest.mark.parametrize(("name", "source"), list(permutations(NAMES, 2)))
def test_a_block_of_others_is_valid_as_soon_as_the_export_is_accepted(
    both: Both, name: str, source: str
) -> None:
    chains = ThreeChains(both, Random(1))
    output = ExportedOutput(chains, name, source)
    output.come()
    chains.submit(name, chains.make_import(name, source, [output.utxo]))
    context = BlockContext(chains.later())
    raw = chains.runtime(name).vm.build(context).raw
    chains.restart()
    output.go()
    vm = chains.runtime(name).vm
    block = vm.parse(raw)

    with pytest.raises(NotYetValid):
        vm.verify(block, context)
    output.come()
    vm.verify(block, context)
    vm.accept([block.block_id], written=lambda _: None)

    assert chains.moved()[name] == 1
    assert not SharedOutput.objects.exists()
    assert not EarlyImport.objects.exists()
