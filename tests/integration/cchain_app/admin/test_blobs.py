"""Blobs in the admin: the list with the state of each transaction, a blob's page, and the search."""

from typing import Any

import pytest

from cchain_app.models import Blob
from cchain_app.services import removal
from primitives.evm import Hash
from tests.builders.blobs import INFINITY, ZERO_HASH, sent_blobs
from tests.integration.admin_pages import Browse
from tests.integration.cchain_app.admin.paths import detail, hexed, listing
from tests.integration.conftest import Chain, Rpc

pytestmark = pytest.mark.node_settings(profile="embedded")


@pytest.fixture
def chain(db: None, node_settings: Any) -> Chain:
    """A chain that makes real blocks, instead of the chain of generated rows."""
    return Chain()


@pytest.fixture
def sent(chain: Chain, rpc: Rpc) -> dict[str, str]:
    """The hashes of a mined transaction with two blobs, a pending one with one, and a dropped one with one."""
    hashes = {}
    for name, count in (("mined", 2), ("pending", 1), ("dropped", 1)):
        tx = sent_blobs(count, nonce=chain.nonce).raw
        hashes[name] = rpc("eth_sendRawTransaction", hexed(tx))
        chain.nonce += 1
        if name == "mined":
            chain.mine()
    assert removal.withdraw(chain.evm, Hash(bytes.fromhex(hashes["dropped"][2:])))
    return hashes


def test_the_list_has_the_state_of_each_transaction(browse: Browse, sent: dict[str, str]) -> None:
    page = browse(listing("blob"))
    assert [row.transaction_hash.hex() for row in page.rows] == [
        sent[name][2:] for name in ("dropped", "pending", "mined", "mined")
    ]
    assert len(page.chain_statements) == 3  # the rows, and the two tables of transactions
    for name, model in (("mined", "transaction"), ("pending", "pooltransaction")):
        assert f'href="{detail(model, sent[name])}"' in page.text
    for model in ("transaction", "pooltransaction"):
        assert f'href="{detail(model, sent["dropped"])}"' not in page.text
    assert page.text.count(">dropped<") == 1
    assert 'href="/admin/cchain_app/blob/"' in page.text  # its entry in the menu


def test_page_shows_the_blob_and_its_proofs(browse: Browse, sent: dict[str, str]) -> None:
    key = Blob.objects.values_list("pk", flat=True).order_by("pk")[0]
    text = browse(detail("blob", key)).text
    assert hexed(ZERO_HASH) in text
    assert sent["mined"] in text
    assert hexed(INFINITY) in text
    assert "128 proofs: proofs of its cells (EIP-7594)" in text
    assert "131,072 bytes" in text


def test_a_transaction_and_a_versioned_hash_find_blobs(
    browse: Browse, sent: dict[str, str]
) -> None:
    assert [row.index for row in browse(listing("blob"), q=sent["mined"]).rows] == [0, 1]
    assert len(browse(listing("blob"), q=hexed(ZERO_HASH)).rows) == 4
    assert browse(listing("blob"), q="0x" + "ab" * 32).rows == []
    assert browse(listing("blob"), q="7").rows == []
