"""Random transfers among three chains, with undecided branches, kills and restarts: no coin is created or lost."""

from random import Random

import pytest

from shared_app.models import SharedOutput
from tests.integration.cchain_app.atomic.conftest import Both
from tests.integration.cchain_app.atomic.three_chains import ThreeChains
from tests.searching import seeds

# PostgreSQL gets several statements in one message, so a kill between them is no event of its own.
pytestmark = pytest.mark.sqlite_only

STEPS = 25


@pytest.mark.parametrize("seed", seeds(2, thorough=200))
def test_coins_are_conserved_whatever_ends_when(both: Both, seed: int) -> None:
    chains = ThreeChains(both, Random(seed))

    for _ in range(STEPS):
        chains.step()

    assert chains.kills > 1
    assert chains.rejections > 0
    assert sum(chains.moved().values()) > STEPS // 2
    chains.finish()
    assert min(chains.moved().values()) > 0
    chains.assert_conserved()
    assert not SharedOutput.objects.exists()
