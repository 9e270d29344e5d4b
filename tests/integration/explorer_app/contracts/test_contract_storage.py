"""A contract's storage by variable name: values are read as Solidity's code wrote them."""

import re
from html import unescape
from http import HTTPStatus
from urllib.parse import urlencode

import pytest

from explorer_app.selectors import interfaces
from explorer_app.storage.reading import StoredVariable, look_up, read_all
from explorer_app.verification.proxies import SLOTS
from primitives.evm import Address, Slot
from primitives.hexadecimal import checksum_address
from tests.builders.transactions import SENDER
from tests.integration.admin_pages import Browse
from tests.integration.explorer_app.contracts.conftest import Explored
from tests.integration.explorer_app.contracts.test_contract_forms import SCRIPT, cabinet, path
from tests.integration.explorer_app.contracts.test_proxies import DELEGATES, deployer, word

__all__ = ["cabinet"]

pytestmark = pytest.mark.usefixtures("pchain")  # the header shows the P-Chain side of an address

STORY = "A text that is longer than the thirty-one bytes which one slot has room for, and then some more."


def plain(variable: StoredVariable) -> object:
    """Return a value, or a list of the values of its parts."""
    if variable.parts:
        return [plain(part) for part in variable.parts]
    return variable.remark if variable.value is None else variable.value


def test_variables_of_all_types_are_read_correctly(explored: Explored, cabinet: Address) -> None:
    told = interfaces.storage_layout(explored.site.evm, cabinet)
    assert told is not None
    fetch = interfaces.slots_reader(explored.site.evm, cabinet)
    found = {variable.name: variable for variable in read_all(told.layout, fetch)}
    drawer = ["100", "-3", "true"]
    sizes = ["0", "4"]

    assert {name: plain(variable) for name, variable in found.items() if not variable.mapping} == {
        "isOpen": "true",
        "rows": "7",
        "keeper": str(checksum_address(SENDER)),
        "balance": "-5",
        "wood": "2",
        "price": f"0x{12:024x}",
        "mark": "0xcafebabe",
        "title": "Cabinet",
        "story": STORY,
        "raw": "0x0102",
        "triple": ["1", "2", "3"],
        "packed": [str(10 + place) for place in range(7)],
        "numbers": [str(100 + place) for place in range(10)],
        "small": ["1", "2"],
        "top": [*drawer, "top", sizes],
        "drawers": [[*drawer, "first", sizes], [*drawer, "second", sizes]],
        "count": "42",
        "next": str(checksum_address(cabinet)),
    }
    assert found["numbers"].remark == "the first 10 of 14 elements are shown"
    assert (found["balance"].offset, found["keeper"].offset) == (22, 2)
    held = look_up(
        told.layout, found["heldBy"].mapping, found["heldBy"].slot, [word(SENDER)], fetch
    )
    assert held.value == "77"
    named = found["named"]
    assert named.keys == ("string", "uint256")
    deep = look_up(told.layout, named.mapping, named.slot, [b"a", (5).to_bytes(32, "big")], fetch)
    assert plain(deep) == [*drawer, "deep", sizes]


def test_slots_of_a_page_are_read_at_one_height(explored: Explored, cabinet: Address) -> None:
    count = Slot((19).to_bytes(32, "big"))
    before = interfaces.slots_reader(explored.site.evm, cabinet)
    data = bytes.fromhex("3fb5c1cb") + (77).to_bytes(32, "big")
    _, block = explored.chain.do(to=cabinet, value=0, data=data, gas=100_000)
    after = interfaces.slots_reader(explored.site.evm, cabinet)

    assert block.receipts[0].succeeded
    assert int.from_bytes(before([count])[count], "big") == 42
    assert int.from_bytes(after([count])[count], "big") == 77


def test_a_page_out_of_time_marks_unread_values(
    explored: Explored, cabinet: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interfaces, "SECONDS", 0)
    text = explored.client.get(path(cabinet, "storage")).content.decode()

    assert "not read" in text
    assert "isOpen" in text


def test_the_page_shows_variables_in_a_bounded_number_of_questions(
    explored: Explored, cabinet: Address, browse: Browse
) -> None:
    explored.chain.mine()
    state = explored.site.evm.memory.state
    assert state.number is not None
    state.reset(state.number)
    first = browse(path(cabinet, "storage"))
    page = browse(path(cabinet, "storage"))  # the slots are cached

    assert page.status == HTTPStatus.OK
    for text in (
        "isOpen",
        STORY,
        "the first 10 of 14 elements are shown",
        "mapping(address =&gt; uint256)",
    ):
        assert text in page.text
    assert len(first.chain_statements) <= 24  # including the names of the contract and of addresses
    assert page.slow_plans() == []


def looked_up(text: str, name: str) -> dict[str, str]:
    """Return the hidden fields of the form that looks up a key of a mapping."""
    piece = text.partition(f'<span class="name">{name}</span>')[2].partition("</form>")[0]
    found = re.findall(r'name="(mapping|slot)" value="([^"]+)"', piece)
    return {name: unescape(value) for name, value in found}


def test_a_mapping_is_looked_up(explored: Explored, cabinet: Address) -> None:
    url = path(cabinet, "storage")
    text = explored.client.get(url).content.decode()
    held = looked_up(text, "heldBy") | {"k0": str(checksum_address(SENDER))}
    marks = looked_up(text, "marks") | {"k0": "1"}
    whole = explored.client.get(url, held)
    part = explored.client.get(url, held, headers=SCRIPT)

    assert '<span class="hex">77</span>' in whole.content.decode()
    assert "isOpen" in whole.content.decode()
    assert '<span class="hex">77</span>' in part.content.decode()
    assert "isOpen" not in part.content.decode()
    assert part["Vary"] == whole["Vary"] == "HX-Request"
    assert f"0x{9:064x}" in explored.client.get(url, marks).content.decode()


def test_an_invalid_key_is_refused(explored: Explored, cabinet: Address) -> None:
    url = path(cabinet, "storage")
    held = looked_up(explored.client.get(url).content.decode(), "heldBy") | {"k0": "0x<1"}
    plainly = explored.client.get(url, held)
    part = explored.client.get(url, held, headers=SCRIPT)

    words = "The key of type address must be an address: 0x and 40 digits."
    assert plainly.status_code == HTTPStatus.BAD_REQUEST
    assert words in plainly.content.decode()
    assert part.status_code == HTTPStatus.OK
    assert words in part.content.decode()


@pytest.mark.parametrize(
    "query",
    [
        {"mapping": "t_nothing", "slot": "00" * 32},
        {"mapping": "t_uint256", "slot": "00" * 32},
        {"mapping": "t_mapping(t_address,t_uint256)"},
        {"mapping": "t_mapping(t_address,t_uint256)", "slot": "0x12"},
        {"mapping": "t_mapping(t_address,t_uint256)", "slot": "zz" * 32},
    ],
)
def test_an_unknown_mapping_is_not_found(
    explored: Explored, cabinet: Address, query: dict[str, str]
) -> None:
    response = explored.client.get(f"{path(cabinet, 'storage')}?{urlencode(query)}")

    assert response.status_code == HTTPStatus.NOT_FOUND


def test_proxy_storage_uses_the_implementations_layout(
    explored: Explored, cabinet: Address
) -> None:
    slots = {SLOTS[0].slot: word(cabinet), (19).to_bytes(32, "big"): (4321).to_bytes(32, "big")}
    proxy = explored.create(deployer(DELEGATES, slots=slots))
    text = explored.client.get(path(proxy, "storage")).content.decode()

    assert "layout of" in text
    assert '<span class="hex">4321</span>' in text


def test_a_proxy_of_an_unknown_implementation_shows_no_empty_layout(
    explored: Explored,
) -> None:
    proxy = Address(bytes.fromhex(explored.verified("proxy").addresses["proxy"]))
    text = explored.client.get(path(proxy, "storage")).content.decode()

    assert "is not known" in text
    assert "has no variables" not in text


def test_looked_up_value_is_shown_beside_its_form(explored: Explored, cabinet: Address) -> None:
    text = explored.client.get(path(cabinet, "storage")).content.decode()

    assert 'hx-target="next .looked-up"' in text
    assert text.count('</form><div class="looked-up"') == text.count('class="looked-up"')


def test_storage_without_a_layout_explains_the_empty_page(explored: Explored) -> None:
    old = Address(bytes.fromhex(explored.verified("oldtoken").addresses["oldtoken"]))
    unknown = explored.create(deployer(b"\x00"))

    for address in (old, unknown):
        text = explored.client.get(path(address, "storage")).content.decode()
        assert "is not known" in text
