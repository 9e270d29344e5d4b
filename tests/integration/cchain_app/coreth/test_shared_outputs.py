"""The order of outputs that wait for the C-Chain and the X-Chain: on networks of avalanchego the newest come first."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cchain_app.selectors.atomic import importable
from primitives.ids import ID, P_CHAIN_ID, ShortID
from primitives.settings import CommonSettings
from shared_app.paging import UtxoCursor, UtxoPage
from tests.builders.coreth import local_genesis
from tests.builders.platform import utxo
from tests.builders.shared_outputs import receive
from tests.builders.xchain import X_CHAIN_ID, x_chain
from tests.integration.cchain_app.coreth.follower import chain_of
from utxo.components import UTXO
from xchain_app.selectors.outputs import utxos_of

pytestmark = pytest.mark.django_db(transaction=True)

OWNER = ShortID(b"\x07" * 20)
BLOCKS = [[utxo(1, OWNER, number=number) for number in numbers] for numbers in ((3, 9), (5,), (7,))]

Read = Callable[[UtxoCursor | None, int], UtxoPage]


def ids(utxos: list[UTXO]) -> list[ID]:
    return sorted(one.utxo_id for one in utxos)


NEWEST_FIRST = [utxo_id for block in reversed(BLOCKS) for utxo_id in ids(block)]
BY_ID = ids([one for block in BLOCKS for one in block])


def walked(read: Read, limit: int) -> list[ID]:
    """Return the ends of pages of one output, and check that larger pages have the same outputs."""
    found: list[bytes] = []
    ends, after = [], None
    while len(found) < len(BY_ID):
        page = read(after, limit)
        found += page.utxos
        ends.append(page.end.utxo_id)
        after = page.end
    assert len(set(found)) == len(BY_ID)
    return ends


def test_those_for_the_c_chain() -> None:
    chain = chain_of(local_genesis().encode())
    for height, utxos in enumerate(BLOCKS, 1):
        receive(chain.db, P_CHAIN_ID, utxos, height, destination=chain.blockchain_id)

    def read(after: UtxoCursor | None, limit: int) -> UtxoPage:
        return importable(chain, [OWNER], source=P_CHAIN_ID, after=after, limit=limit)

    assert walked(read, 1) == NEWEST_FIRST != BY_ID
    assert walked(read, 2) == NEWEST_FIRST[1::2]


@pytest.mark.parametrize(
    ("parameters", "expected"), [("avalanchego", NEWEST_FIRST), ("specification", BY_ID)]
)
def test_those_for_the_x_chain(parameters: str, expected: list[ID]) -> None:
    chain = x_chain()
    chain.node = replace(CommonSettings(), parameters=parameters)
    for height, utxos in enumerate(BLOCKS, 1):
        receive(chain.db, P_CHAIN_ID, utxos, height, destination=X_CHAIN_ID)

    def read(after: UtxoCursor | None, limit: int) -> UtxoPage:
        return utxos_of(chain, [OWNER], after=after, limit=limit, source_chain=P_CHAIN_ID)

    assert walked(read, 1) == expected
