"""Pages of a verified contract: its sources, and its calls, events and errors decoded by name."""

from http import HTTPStatus

from explorer_app.models import VerifiedContract
from tests.integration.explorer_app.contracts.conftest import Explored
from tests.integration.platform_app.conftest import PChain

SET = bytes.fromhex("3fb5c1cb")
"""setNumber(uint256) of the sample `counter`."""


def page(explored: Explored, path: str, **parameters: str) -> str:
    response = explored.client.get(path, parameters)
    assert response.status_code == HTTPStatus.OK
    return response.content.decode()


def test_a_contract_has_its_sources_and_its_calls_have_their_names(
    pchain: PChain, explored: Explored
) -> None:
    found = explored.deploy("counter")
    address = "0x" + found.addresses["counter"]
    sent, _ = explored.chain.do(
        to=bytes.fromhex(found.addresses["counter"]),
        value=0,
        data=SET + (7).to_bytes(32),
        gas=100_000,
    )
    before = page(explored, f"/address/{address}", tab="contract")
    unnamed = page(explored, f"/tx/0x{sent.hash.hex()}")
    explored.post(**explored.form(found))
    explored.work()
    after = page(explored, f"/address/{address}", tab="contract")
    named = page(explored, f"/tx/0x{sent.hash.hex()}")

    assert "The source code is not verified" in before
    assert "guessed from the selector" in unnamed
    assert ">verified<" in after
    assert "function setNumber" in after
    assert "called <b>setNumber</b> on" in named
    assert "guessed from the selector" not in named
    assert "setNumber" in page(explored, f"/tx/0x{sent.hash.hex()}", tab="calls")


def test_a_contract_with_the_same_code_shows_no_arguments_of_the_other(
    pchain: PChain, explored: Explored
) -> None:
    own, other = explored.verified("counter"), explored.deploy("counter")
    VerifiedContract.objects.update(arguments=b"\xab\xcd")
    shown, similar = (
        page(explored, f"/address/0x{address.addresses['counter']}", tab="contract")
        for address in (own, other)
    )

    assert ">verified<" in shown
    assert "Constructor arguments" in shown
    assert "same code as a verified contract" in similar
    assert "Constructor arguments" not in similar
