"""Named snapshots and coins that move between chains: a restored node has all chains and what is between them."""

from random import Random

from nodeproject.apps import this_node
from shared_app.models import SharedOutput
from tests.integration.cchain_app.atomic.conftest import Both
from tests.integration.cchain_app.atomic.three_chains import NAMES, ThreeChains
from tests.integration.nodeproject.snapshots import Scene


def export_everywhere(chains: ThreeChains) -> None:
    """Export from each chain to each other one."""
    for name in NAMES:
        for other in NAMES:
            if other != name:
                chains.export(name, other)
                chains.produce_all()


def heads() -> list[object]:
    return [
        this_node().network.chains[alias].last_accepted() for alias in this_node().network.chains
    ]


def test_what_was_between_the_chains_is_there_again_and_can_be_imported(scene: Scene) -> None:
    chains = ThreeChains(Both(scene.pchain), Random(1))
    export_everywhere(chains)
    waiting = set(SharedOutput.objects.values_list("utxo_id", flat=True))
    assert len(waiting) == 6
    before = heads()
    scene.snapshots.save("a")
    for _ in range(2):
        chains.finish()
        export_everywhere(chains)
    assert waiting.isdisjoint(SharedOutput.objects.values_list("utxo_id", flat=True))

    scene.restore("a")

    assert heads() == before
    assert set(SharedOutput.objects.values_list("utxo_id", flat=True)) == waiting
    chains.assert_conserved()
    chains.finish()
    assert not SharedOutput.objects.exists()
    assert min(chains.moved().values()) > 2
    chains.assert_conserved()
