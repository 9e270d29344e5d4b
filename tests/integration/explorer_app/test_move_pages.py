"""Pages of imports and exports of the C-Chain, with both ends of each move."""

from http import HTTPStatus

import pytest
from django.test import Client

from platform_app.config import UNIT
from primitives.ids import P_CHAIN_ID
from tests.integration.cchain_app.atomic.conftest import EWOQ_ACCOUNT, TO, Both, both
from tests.integration.platform_app.conftest import nothing_remembered, shared_pchain

__all__ = ["both", "nothing_remembered", "shared_pchain"]


def text(client: Client, path: str) -> str:
    response = client.get(path)
    assert response.status_code == HTTPStatus.OK, path
    return response.content.decode()


@pytest.mark.django_db(transaction=True)
def test_imports_and_exports_have_pages_that_link_both_ends(both: Both, client: Client) -> None:
    on_p = both.exported_to_c(5 * UNIT)
    imported = both.make_import()
    block = both.do(imported)
    exported = both.make_export(2 * UNIT)
    later = both.do(exported)

    page = text(client, f"/atomic/{imported.tx_id}")
    assert "from the P-Chain" in page
    assert "from P-Chain to C-Chain" in page
    assert f'href="/p/tx/{on_p}"' in page
    assert "Credited" in page
    assert "0x7777777777777777777777777777777777777777" in page
    assert f'href="/atomic/{imported.tx_id}"' in text(client, f"/p/tx/{on_p}")
    assert f'href="/atomic/{imported.tx_id}"' in text(client, f"/block/{block.number}")
    assert f'href="/atomic/{imported.tx_id}"' in text(client, f"/address/0x{TO.hex()}?tab=imports")

    page = text(client, f"/atomic/{exported.tx_id}")
    assert "Exports 2 " in page
    assert "Debited" in page
    assert EWOQ_ACCOUNT.hex() in page.lower()
    assert "waits for an import" in page
    assert f'href="/atomic/{exported.tx_id}"' in text(client, f"/block/{later.number}")
    (waiting,) = both.waiting(P_CHAIN_ID, both.p.network.c_chain_id)
    owner = waiting.output.owners.addresses[0]  # type: ignore[attr-defined]
    assert f'href="/atomic/{exported.tx_id}"' in text(client, f"/p/address/{owner}")
    found = client.get("/search", {"q": str(exported.tx_id)})
    assert found["Location"] == f"/atomic/{exported.tx_id}"
    for wrong in ("x", str(on_p)):
        assert client.get(f"/atomic/{wrong}").status_code == HTTPStatus.NOT_FOUND
