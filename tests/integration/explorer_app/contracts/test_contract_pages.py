"""Pages of a verified contract: its sources, and its calls, events and errors decoded by name."""

import re
from http import HTTPStatus

from explorer_app.models import VerifiedContract
from explorer_app.selectors import cchain
from explorer_app.verification.proxies import SLOTS
from primitives.evm import Address
from primitives.hexadecimal import checksum_address
from tests.builders.transactions import SENDER
from tests.integration.explorer_app.contracts.conftest import Explored
from tests.integration.explorer_app.contracts.test_proxies import DELEGATES, deployer
from tests.integration.platform_app.conftest import PChain

SET = bytes.fromhex("3fb5c1cb")
"""setNumber(uint256) of the sample `counter`."""


def page(explored: Explored, path: str, **parameters: str) -> str:
    response = explored.client.get(path, parameters)
    assert response.status_code == HTTPStatus.OK
    return response.content.decode()


def test_verified_contract_shows_sources_and_named_calls(
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


def test_contract_with_the_same_code_shows_no_foreign_arguments(
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


def test_changed_slots_show_variable_names(pchain: PChain, explored: Explored) -> None:
    found = explored.deploy("cabinet")
    sender, creation = checksum_address(SENDER), cchain.transactions(explored.site.evm)[0]
    url = f"/tx/0x{creation.hash.hex()}"
    before = page(explored, url, tab="state")
    explored.post(**explored.form(found))
    explored.work()
    after = page(explored, url, tab="state")

    assert "heldBy" not in before
    for name, old, new in (
        ("keeper", None, None),
        ("isOpen", "false", "true"),
        ("title", "", "Cabinet"),
        ("story", "", "96 bytes"),
        (f"heldBy[{sender}]", "0", "77"),
        ("numbers.length", "0", "14"),
        ("numbers[13]", "0", "113"),
        ("small[1]", "0", "2"),
        ("packed[6]", "0", "16"),
        ("drawers[1].label", "", "second"),
        ("top.sizes.length", "0", "2"),
        ("balance", "0", "-5"),
    ):
        assert f'<b class="hex">{name}</b>' in after, name
        shown = after.partition(f'<b class="hex">{name}</b>')[2].partition("</li>")[0]
        if old is not None:
            assert f'<span class="hex">{old}</span> → <span class="hex">{new}</span>' in shown
    # Only the values of a mapping with keys that do not occur in the transaction have no name.
    unnamed = re.findall(r'<span class="faint">Slot</span> <span class="hex">(\w+)</span>', after)
    assert all(slot.startswith("0x") for slot in unnamed)
    assert 0 < len(unnamed) < 8


def test_a_change_through_a_proxy_has_the_names_of_the_implementations_variables(
    pchain: PChain, explored: Explored
) -> None:
    target = Address(bytes.fromhex(explored.verified("counter").addresses["counter"]))
    code = (
        bytes.fromhex("363d3d373d3d3d363d73")
        + target
        + bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
    )
    clone = explored.create(deployer(code))
    sent, _ = explored.chain.do(to=clone, value=0, data=SET + (7).to_bytes(32), gas=100_000)
    text = page(explored, f"/tx/0x{sent.hash.hex()}", tab="state")

    assert '<b class="hex">number</b>' in text
    slots = {SLOTS[0].slot: target.rjust(32, b"\0")}
    explored.create(deployer(DELEGATES, slots=slots))
    creation = cchain.transactions(explored.site.evm)[0]
    text = page(explored, f"/tx/0x{creation.hash.hex()}", tab="state")
    assert "EIP1967 slot of the implementation" in text
    assert f'href="/address/{checksum_address(target)}"' in text
