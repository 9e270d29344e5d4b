"""A network that crosses Helicon: its blocks up to there are executed, those after it are refused with the reason."""

import pytest

from cchain_app.blocks.errors import BlockRefused
from cchain_app.rules.coreth.errors import CorethReason
from cchain_app.rules.coreth.header import CorethHeader, decode_header
from chainvm.port import BlockContext
from primitives.networks import LOCAL
from primitives.upgrades import parse_upgrades
from tests.builders.coreth import FAR, MemoryCoreth, local_genesis, local_parameters
from tests.builders.reasons import raises
from tests.conformance.coreth_vectors import data, document

_GIVEN = document("sae_preview")
UPGRADES = parse_upgrades(_GIVEN["upgrades"])
_BEFORE = [entry for entry in _GIVEN["blocks"] if 0 < entry["number"] < _GIVEN["firstSAEBlock"]]
_SINCE = [entry for entry in _GIVEN["blocks"] if entry["number"] >= _GIVEN["firstSAEBlock"]]


@pytest.fixture(scope="module")
def chain() -> MemoryCoreth:
    """The chain up to the last block before Helicon."""
    parameters = local_parameters()
    assert parameters.network_id == LOCAL
    made = MemoryCoreth(local_genesis(), UPGRADES, parameters, engine_name="native")
    assert made.blocks[0].hash == data(_GIVEN["blocks"][0]["hash"])
    for entry in _BEFORE:
        block = made.accept(data(entry["blockRLP"]), BlockContext(FAR, decided=True)).block
        assert block.hash == data(entry["hash"])
    return made


def test_blocks_before_helicon_are_executed(chain: MemoryCoreth) -> None:
    assert chain.blocks[-1].number == _GIVEN["firstSAEBlock"] - 1


@pytest.mark.parametrize("entry", _SINCE, ids=lambda entry: entry["number"])
def test_blocks_since_helicon_are_refused_with_an_explanation(
    chain: MemoryCoreth, entry: dict[str, str]
) -> None:
    raw = data(entry["blockRLP"])
    found = chain.format.parse_header(raw)
    assert found.hash == data(entry["hash"])
    with raises(CorethReason.HELICON, kind=BlockRefused, match="helicon blocks are not valid"):
        chain.verify(raw, BlockContext(FAR, decided=True))


def test_headers_of_helicon_are_read(chain: MemoryCoreth) -> None:
    first = chain.format.parse_header(data(_SINCE[0]["blockRLP"])).header
    assert isinstance(first, CorethHeader)
    assert first.settled_height is not None
    assert decode_header(first.raw) == first


def test_no_block_is_built_since_helicon(chain: MemoryCoreth) -> None:
    head = chain.blocks[-1]
    last = 1_000 * UPGRADES.helicon - 1
    assert chain.rules.builds_from(head, last) == last
    assert chain.rules.builds_from(head, last + 1) is None
