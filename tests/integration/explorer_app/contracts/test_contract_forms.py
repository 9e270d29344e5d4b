"""Forms for a contract's functions: return values, errors by name, and prepared transactions."""

import json
import re
from contextlib import suppress
from http import HTTPStatus

import pytest
from django.http import HttpResponse

from cchain_app.evm.engine import CallInterrupted
from explorer_app.models import SuppliedAbi
from explorer_app.selectors import traces
from explorer_app.services import supplied_abis
from explorer_app.verification.errors import BadSubmission, SubmissionReason
from explorer_app.verification.proxies import SLOTS
from explorer_app.views import answers, contract_forms
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.builders.reasons import raises
from tests.builders.transactions import SENDER
from tests.integration.admin_pages import Browse
from tests.integration.explorer_app.contracts.conftest import FORM, Explored, urlencoded
from tests.integration.explorer_app.contracts.test_proxies import DELEGATES, deployer, word
from tests.integration.explorer_app.contracts.test_proxies import answers as code_that_answers

pytestmark = [pytest.mark.sqlite_only, pytest.mark.usefixtures("pchain")]

SUM = "dc61afec"
"""sum(uint256[],bool) of the sample `cabinet`."""
SCRIPT = {"HX-Request": "true"}


@pytest.fixture
def cabinet(explored: Explored) -> Address:
    return Address(bytes.fromhex(explored.verified("cabinet").addresses["cabinet"]))


def path(address: Address, part: str) -> str:
    return f"/address/{checksum_address(address)}/{part}"


def sent(explored: Explored, url: str, *, script: bool = False, **form: str) -> HttpResponse:
    headers = SCRIPT if script else {}
    return explored.client.post(url, urlencoded(form), FORM, headers=headers)


def selector(text: str, name: str) -> str:
    """Return the selector digits that a page's form uses for a function."""
    found = re.search(rf'id="f-([0-9a-f]{{8}})"[^>]*><summary><b>{name}</b>', text)
    assert found is not None, name
    return found[1]


def test_read_page_shows_forms_and_loads_no_values_at_first(
    explored: Explored, cabinet: Address, browse: Browse
) -> None:
    state = explored.site.evm.memory.state
    assert state.number is not None
    state.reset(state.number)
    first = browse(path(cabinet, "read"))
    page = browse(path(cabinet, "read"))  # slots that may name an implementation are cached

    assert page.status == HTTPStatus.OK
    assert 'placeholder="[1, …]"' in page.text
    assert "<dt>title</dt>" in page.text
    assert ">Cabinet<" not in page.text.partition("<dl")[2]
    assert "setNumber" not in page.text
    assert len(first.chain_statements) <= 18
    assert page.slow_plans() == []


def test_values_without_inputs_are_read_in_few_statements(
    explored: Explored, cabinet: Address, browse: Browse
) -> None:
    browse(path(cabinet, "read"))
    whole = browse(path(cabinet, "read"), values="")
    part = explored.client.get(path(cabinet, "read"), {"values": ""}, headers=SCRIPT)

    for text in (whole.text, part.content.decode()):
        assert '<span class="hex">Cabinet</span>' in text
        assert '<span class="hex">42</span>' in text
        assert str(checksum_address(SENDER)) in text
    assert "<html" not in part.content.decode()
    assert len(whole.chain_statements) <= 12


def test_a_question_is_answered_with_and_without_scripts(
    explored: Explored, cabinet: Address
) -> None:
    url = path(cabinet, "read")
    form = {"function": SUM, "a0": '[1, 2, "0x10"]', "a1": "true"}
    plain = sent(explored, url, **form)
    part = sent(explored, url, script=True, **form)

    for response in (plain, part):
        assert response.status_code == HTTPStatus.OK
        assert '<span class="hex">38</span>' in response.content.decode()
    assert f'id="f-{SUM}" open' in plain.content.decode()
    assert part.content.decode().lstrip().startswith("<form")


def test_tuple_result_names_its_members(explored: Explored, cabinet: Address) -> None:
    url = path(cabinet, "read")
    drawer = selector(explored.client.get(url).content.decode(), "drawer")
    text = sent(explored, url, function=drawer, a0="1").content.decode()

    assert "label" in text
    assert ">second<" in text
    assert ">-3<" in text


def test_an_invalid_field_shows_an_error_and_keeps_its_input(
    explored: Explored, cabinet: Address
) -> None:
    url = path(cabinet, "read")
    plain = sent(explored, url, function=SUM, a0="[1, <b>", a1="perhaps")
    part = sent(explored, url, script=True, function=SUM, a0="[1, -2]", a1="true")

    assert plain.status_code == HTTPStatus.BAD_REQUEST
    text = plain.content.decode()
    assert "given must be JSON for uint256[], such as [1, …]." in text
    assert "twice must be true or false." in text
    for place in ("a0", "a1"):
        assert text.count(f'aria-describedby="{SUM}-{place}-error"') == 1
    assert "[1, &lt;b&gt;</textarea>" in text
    assert part.status_code == HTTPStatus.OK  # otherwise a script would not show it
    assert "given [1] must be a whole number of 256 bits." in part.content.decode()


def test_failed_call_shows_the_contracts_error_name(explored: Explored, cabinet: Address) -> None:
    url = path(cabinet, "read")
    text = explored.client.get(url).content.decode()
    named = sent(explored, url, function=selector(text, "open"), a0="7").content.decode()
    panicked = sent(explored, url, function=selector(text, "drawer"), a0="9").content.decode()

    assert "The call reverted with Locked." in named
    assert "until" in named
    assert str(checksum_address(SENDER)) in named
    assert "out-of-bounds access of an array" in panicked


def test_an_endless_compiler_is_killed(
    explored: Explored, cabinet: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = path(cabinet, "read")
    endless = selector(explored.client.get(url).content.decode(), "endless")
    assert "out of gas" in sent(explored, url, function=endless).content.decode()

    def interrupted(*_: object, **__: object) -> None:
        raise CallInterrupted

    monkeypatch.setattr(explored.site.evm.engine, "call", interrupted)
    assert (
        "longer than the time limit of the page"
        in sent(explored, url, function=endless).content.decode()
    )
    monkeypatch.setattr(answers, "SECONDS", 0)
    assert (
        "the time limit of the page was reached"
        in sent(explored, url, function=endless).content.decode()
    )


def test_concurrent_contract_calls_are_limited(
    explored: Explored, cabinet: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces, "PATIENCE", 0.01)
    site = explored.site
    with site.executing, site.executing:
        asked = sent(explored, path(cabinet, "read"), function=SUM, a0="[]", a1="true")
        stored = explored.client.get(path(cabinet, "storage"))

    for response in (asked, stored):
        assert str(traces.Busy()) in response.content.decode()


def test_a_transaction_is_prepared_and_nothing_is_sent(
    explored: Explored, cabinet: Address
) -> None:
    url = path(cabinet, "write")
    text = explored.client.get(url).content.decode()
    assert "<b>sum</b>" not in text
    before = explored.site.evm.memory.blocks.head.number
    form = {
        "function": selector(text, "fill"),
        "a0": '[{"width": 5, "depth": "-1", "locked": true, "label": "é", "sizes": [1, 2]}]',
        "a1": "-7",
        "coins": "1.5",
    }
    part = sent(explored, url, script=True, **form).content.decode()
    found = re.search(r'data-data="0x([0-9a-f]+)" data-value="0x([0-9a-f]+)"', part)
    assert found is not None

    assert int(found[2], 16) == 15 * 10**17
    assert f"cast send {checksum_address(cabinet)} 0x{found[1]} --value 1500000000000000000" in part
    assert explored.site.evm.memory.blocks.head.number == before
    _, block = explored.chain.do(
        to=cabinet, value=int(found[2], 16), data=bytes.fromhex(found[1]), gas=1_000_000
    )
    assert block.receipts[0].succeeded
    drawer = path(cabinet, "read")
    answered = sent(
        explored, drawer, function=selector(explored.client.get(drawer).content.decode(), "drawer"), a0="2"
    )  # fmt: skip
    assert ">é<" in answered.content.decode()


def test_script_gets_the_revert_reason_of_a_prepared_transaction(
    explored: Explored, cabinet: Address
) -> None:
    url = path(cabinet, "write")
    locked = keccak256(b"Locked(address,uint256)")[:4] + word(cabinet) + (7).to_bytes(32, "big")
    error = bytes.fromhex("08c379a0") + (32).to_bytes(32, "big") + (4).to_bytes(32, "big") + b"<no>"

    for data, words in (
        ("0x" + locked.hex(), "The call reverted with Locked."),
        ("0x" + error.hex().ljust(200, "0"), "The call reverted: &lt;no&gt;"),
        ("0x12345678", "The call reverted with 0x12345678"),
        ("0x", "without a reason"),
        ("<b>", "without a reason"),
    ):
        text = explored.client.get(url, {"reverted": data}, headers=SCRIPT).content.decode()
        assert words in text
        assert "<html" not in text


def test_malformed_amount_is_refused(explored: Explored, cabinet: Address) -> None:
    url = path(cabinet, "write")
    text = explored.client.get(url).content.decode()
    refused = sent(explored, url, function=selector(text, "fill"), a0="[]", a1="0", coins="-1")

    assert refused.status_code == HTTPStatus.BAD_REQUEST
    assert "Value to send must be an amount" in refused.content.decode()
    assert "data-data" not in refused.content.decode()


def test_proxy_forms_show_functions_of_its_implementation(explored: Explored) -> None:
    target = explored.verified("counter")
    address = Address(bytes.fromhex(target.addresses["counter"]))
    proxy = explored.create(deployer(DELEGATES, slots={SLOTS[0].slot: word(address)}))
    read = explored.client.get(path(proxy, "read")).content.decode()
    write = explored.client.get(path(proxy, "write")).content.decode()

    assert "<dt>number</dt>" in read
    assert "implemented by" in write
    assert str(checksum_address(address)) in write
    assert selector(write, "setNumber") == "3fb5c1cb"


def test_a_supplied_abi_has_forms_too_and_is_marked(explored: Explored) -> None:
    address = explored.create(deployer(b"\x00"))
    bare = explored.client.get(path(address, "write")).content.decode()
    abi = '[{"type": "function", "name": "poke", "inputs": [{"type": "fixed8x1", "name": "x"}]}]'
    supplied_abis.supply_abi(explored.site, address, abi, name="<i>Mine")
    given = explored.client.get(path(address, "write")).content.decode()
    odd = sent(explored, path(address, "write"), function=selector(given, "poke"), a0="1")

    assert "No functions that change the state are known" in bare
    assert "not verified" in given
    assert "&lt;i&gt;Mine" in given
    assert odd.status_code == HTTPStatus.BAD_REQUEST
    assert "x has a type that cannot be entered here: fixed8x1" in odd.content.decode()


ODD = (
    '{"type": "function", "name": "f", "stateMutability": []}',
    '{"name": "f", "constant": true, "outputs": [{"type": "(uint256)"}]}',
    '{"name": "f", "inputs": [{"type": "int0"}]}',
)


@pytest.mark.parametrize("entry", ODD)
def test_an_odd_abi_fails_no_page(explored: Explored, entry: str) -> None:
    code = bytes.fromhex("60205ff3")  # a word of zeros
    address = explored.create(deployer(code))
    with suppress(BadSubmission):
        supplied_abis.supply_abi(explored.site, address, "[]")
        supplied_abis.supply_abi(explored.site, address, f"[{entry}]")
    explored.site.evm.db.objects(SuppliedAbi).update(abi=f"[{entry}]")  # from an earlier release
    form = {"function": keccak256(b"f(int0)")[:4].hex(), "a0": "0"}
    statuses = {
        explored.client.get(path(address, "read"), {"values": ""}).status_code,
        explored.client.get(path(address, "write")).status_code,
        explored.client.get(path(address, "write"), {"reverted": "0x01"}, headers=SCRIPT).status_code,
        sent(explored, path(address, "write"), **form).status_code,
    }  # fmt: skip

    assert statuses <= {HTTPStatus.OK, HTTPStatus.NOT_FOUND}


@pytest.mark.parametrize("entry", ODD[1:])
def test_abi_with_an_unknown_type_is_refused(explored: Explored, entry: str) -> None:
    address = explored.create(deployer(b"\x00"))

    with raises(SubmissionReason.NO_ABI, kind=BadSubmission, match="there is no type"):
        supplied_abis.supply_abi(explored.site, address, f"[{entry}]")


def shared(rows: int, size: int) -> bytes:
    """Return code whose output is an array of arrays, all of them the same data."""
    words = [32, rows, *[32 * rows] * rows, size, *range(size)]
    data = b"".join(word.to_bytes(32, "big") for word in words)
    return bytes.fromhex(f"61{len(data):04x}61000d5f3961{len(data):04x}5ff3") + data


def test_number_of_values_on_a_page_is_limited(explored: Explored) -> None:
    address = explored.create(deployer(shared(8, 200)))
    getter = {"type": "function", "stateMutability": "view", "outputs": [{"type": "uint256[][]"}]}
    question = {**getter, "name": "asked", "inputs": [{"type": "bool"}]}
    abi = [{**getter, "name": "a"}, {**getter, "name": "b"}, question]
    supplied_abis.supply_abi(explored.site, address, json.dumps(abi))
    values = explored.client.get(path(address, "read"), {"values": ""}, headers=SCRIPT)
    text = explored.client.get(path(address, "read")).content.decode()
    form = {"function": selector(text, "asked"), "a0": "true"}
    asked = sent(explored, path(address, "read"), script=True, **form)

    for response in (values, asked):
        assert 900 < response.content.decode().count("<li>") <= answers.MAX_VALUES
    assert "the first 980 of 1,609 values" in values.content.decode()
    assert "the first 20 of 1,609 values" in values.content.decode()
    assert "the first 1,000 of 1,609 values" in asked.content.decode()


def test_error_missing_from_the_abi_is_marked(explored: Explored, cabinet: Address) -> None:
    data = keccak256(b"OwnableUnauthorizedAccount(address)")[:4] + word(cabinet)
    own = keccak256(b"Locked(address,uint256)")[:4] + word(cabinet) + word(cabinet)
    texts = [
        explored.client.get(
            path(cabinet, "write"), {"reverted": "0x" + payload.hex()}, headers=SCRIPT
        )
        for payload in (data, own)
    ]

    assert ["guessed from the selector" in response.content.decode() for response in texts] == [
        True,
        False,
    ]


def test_functions_of_claimed_implementations_are_last_and_marked(
    explored: Explored,
) -> None:
    target = Address(bytes.fromhex(explored.verified("counter").addresses["counter"]))
    claims = explored.create(deployer(code_that_answers(word(target)) + DELEGATES))
    mine = {
        "type": "function",
        "name": "mine",
        "stateMutability": "view",
        "outputs": [{"type": "address"}],
    }
    supplied_abis.supply_abi(explored.site, claims, json.dumps([mine]))
    url = path(claims, "read")
    text = explored.client.get(url).content.decode()
    values = explored.client.get(url, {"values": ""}, headers=SCRIPT).content.decode()

    for shown in (text, values):
        traces = [
            shown.index(part)
            for part in ("not verified", "<dt>mine", "claimed implementation", "<dt>number")
        ]
        assert traces == sorted(traces)


def test_large_abi_is_shown_in_part(explored: Explored) -> None:
    address = explored.create(deployer(b"\x00"))
    inputs = [{"type": "bool", "name": ""}] * 200
    abi = [{"type": "function", "name": f"f{place}", "inputs": inputs} for place in range(40)]
    supplied_abis.supply_abi(explored.site, address, json.dumps(abi))
    text = explored.client.get(path(address, "write")).content.decode()

    assert text.count("<form method=") == contract_forms.MAX_INPUTS // 201


@pytest.mark.parametrize("part", ["read", "write"])
def test_unknown_contract_or_function_is_not_found(
    explored: Explored, cabinet: Address, part: str
) -> None:
    assert (
        explored.client.get(path(Address(b"\x12" * 20), part)).status_code == HTTPStatus.NOT_FOUND
    )
    assert explored.client.get(f"/address/nobody/{part}").status_code == HTTPStatus.NOT_FOUND
    for form in ({}, {"function": "00000000"}):
        assert sent(explored, path(cabinet, part), **form).status_code == HTTPStatus.NOT_FOUND
