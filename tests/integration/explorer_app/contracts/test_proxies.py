"""Whose code runs for a contract, and which ABI decodes it."""

import json
from collections.abc import Sequence

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app.evm.coreth import stored_slot
from explorer_app.names.book import NO_ABI
from explorer_app.selectors import proxies
from explorer_app.selectors.proxies import StoredTarget
from explorer_app.selectors.verified import abi_of
from explorer_app.verification.proxies import ADMIN_SLOT, SLOTS, ProxyKind
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data
from tests.builders.coreth import local_genesis
from tests.integration.cchain_app.coreth.follower import Follower, chain_of
from tests.integration.explorer_app.contracts.conftest import Explored

DELEGATES = bytes.fromhex("60006000600060006000 5a f4 00".replace(" ", ""))
"""Code with a DELEGATECALL that does nothing useful."""

ABI = {"type": "function", "name": "plain", "inputs": [], "outputs": []}


def deployer(code: bytes, *, slots: dict[bytes, bytes] | None = None) -> bytes:
    """Return init code that writes some slots and deploys code."""
    writes = b"".join(
        b"\x7f" + value + b"\x7f" + slot + b"\x55" for slot, value in (slots or {}).items()
    )
    head = len(writes) + 13
    copy = bytes.fromhex(f"61{len(code):04x}61{head:04x}600039") + bytes.fromhex(
        f"61{len(code):04x}6000f3"
    )
    assert len(copy) == 15
    copy = bytes.fromhex(f"61{len(code):04x}61{len(writes) + 15:04x}600039") + copy[9:]
    return writes + copy + code


def answers(value: bytes) -> bytes:
    """Return code that returns a word for any call data."""
    return b"\x7f" + value + bytes.fromhex("60005260206000f3")


def word(address: Address) -> bytes:
    return address.rjust(32, b"\0")


@pytest.fixture
def target(explored: Explored) -> Address:
    return explored.create(deployer(b"\x00"))


def test_a_slot_names_the_implementation(explored: Explored, target: Address) -> None:
    admin = Address(b"\x77" * 20)
    for kind, slot in SLOTS:
        if kind is ProxyKind.BEACON:
            continue
        slots = {slot: word(target), ADMIN_SLOT: word(admin)}
        found = proxies.proxy(explored.site.evm, explored.create(deployer(DELEGATES, slots=slots)))

        assert found is not None
        assert (found.kind, found.implementations, found.admin) == (kind, (target,), admin)


@pytest.mark.sqlite_only
def test_slots_of_coreth_name_implementations_in_lists(db: None) -> None:
    target, document = Address(b"\x66" * 20), json.loads(local_genesis())
    kinds = {
        Address(bytes([0x70 + place]) * 20): slot
        for place, (kind, slot) in enumerate(SLOTS)
        if kind is not ProxyKind.BEACON
    }
    assert any(stored_slot(slot) != slot for slot in kinds.values())
    for address, slot in kinds.items():
        document["alloc"][address.hex()] = {
            "balance": "0x0",
            "code": encode_data(DELEGATES),
            "storage": {encode_data(slot): encode_data(word(target))},
        }
    chain = Follower(chain_of(json.dumps(document).encode())).chain

    found = proxies.stored_targets(chain, dict.fromkeys(kinds, Hash(keccak256(DELEGATES))))
    assert found == {address: StoredTarget(target, is_certain=False) for address in kinds}


def test_implementation_is_read_from_the_beacon(explored: Explored, target: Address) -> None:
    beacon = explored.create(deployer(answers(word(target))))
    slots = {SLOTS[1].slot: word(beacon)}

    found = proxies.proxy(explored.site.evm, explored.create(deployer(DELEGATES, slots=slots)))

    assert found is not None
    assert (found.kind, found.implementations, found.beacon) == (
        ProxyKind.BEACON,
        (target,),
        beacon,
    )


def test_a_minimal_proxy_needs_no_slot(explored: Explored, target: Address) -> None:
    code = (
        bytes.fromhex("363d3d373d3d3d363d73")
        + target
        + bytes.fromhex("5af43d82803e903d91602b57fd5bf3")
    )

    found = proxies.proxy(explored.site.evm, explored.create(deployer(code)))

    assert found is not None
    assert (found.kind, found.implementations) == (ProxyKind.MINIMAL, (target,))


def test_a_slot_without_a_contract_is_ignored(explored: Explored) -> None:
    for value in (b"\x77" * 20, b"\1" + bytes(31)):
        slots = {SLOTS[0].slot: value.rjust(32, b"\0")}
        made = explored.create(deployer(DELEGATES, slots=slots))

        assert proxies.proxy(explored.site.evm, made) is None


def test_a_contract_without_delegatecall_is_not_a_proxy(
    explored: Explored, target: Address
) -> None:
    slots = {SLOTS[0].slot: word(target)}

    assert proxies.proxy(explored.site.evm, explored.create(deployer(b"\x00", slots=slots))) is None


def test_implementation_named_only_by_a_call_has_lowest_precedence(
    explored: Explored, target: Address
) -> None:
    code = answers(word(target)) + DELEGATES

    found = proxies.proxy(explored.site.evm, explored.create(deployer(code)))

    assert found is not None
    assert (found.kind, found.implementations) == (ProxyKind.CLAIMED, (target,))


def test_an_endless_contract_is_aborted(explored: Explored) -> None:
    code = bytes.fromhex("5b600056") + DELEGATES

    assert proxies.proxy(explored.site.evm, explored.create(deployer(code))) is None


def test_proxies_of_proxies_are_followed_a_few_steps(explored: Explored, target: Address) -> None:
    wanted = target
    for _ in range(2):
        wanted = explored.create(deployer(DELEGATES, slots={SLOTS[0].slot: word(wanted)}))

    assert proxies.implementations(explored.site.evm, wanted) == (target,)


def test_a_proxy_decodes_by_its_implementations_abi_first(explored: Explored) -> None:
    found = explored.verified("proxy")
    proxy, box = (Address(bytes.fromhex(found.addresses[name])) for name in ("proxy", "box"))
    own = abi_of(explored.site.evm, proxy)
    form = explored.form(found, contractaddress="0x" + box.hex(), contractname="src/Box.sol:Box")
    explored.post(**form | {"constructorArguements": ""})
    explored.work()

    both = abi_of(explored.site.evm, proxy)

    (also,) = found.fields["alsoVerify"]
    assert also["contractName"] == "src/Box.sol:Box"
    inner = abi_of(explored.site.evm, box)
    assert inner.functions
    assert both.functions == (*inner.functions, *own.functions)
    assert abi_of(explored.site.evm, Address(b"\x5f" * 20)) is NO_ABI
    asked = {"module": "contract", "action": "getsourcecode", "address": "0x" + proxy.hex()}
    (row,) = explored.get(**asked)["result"]
    assert (row["Proxy"], row["Implementation"]) == ("1", "0x" + box.hex())


def diamond(facets: Sequence[Address]) -> bytes:
    """Return code that delegates, and returns these facets for any call data."""
    data = (32).to_bytes(32) + len(facets).to_bytes(32) + b"".join(map(word, facets))
    start = 15 + len(DELEGATES)
    size = f"61{len(data):04x}"
    return bytes.fromhex(f"{size}61{start:04x}600039{size}6000f3") + DELEGATES + data


def test_facets_count_once_and_are_looked_up_together(explored: Explored) -> None:
    evm = explored.site.evm
    counter, again = explored.verified("counter"), explored.deploy("counter")
    vault, plain = explored.verified("vault"), explored.create(deployer(b"\x00"))
    supplied = {"action": "supplyabi", "address": "0x" + plain.hex(), "abi": json.dumps([ABI])}
    explored.post(module="contract", **supplied)
    facets = [
        Address(bytes.fromhex(address.addresses[name]))
        for address, name in ((counter, "counter"), (again, "counter"), (vault, "vault"))
    ]
    small = explored.create(deployer(diamond(facets[:1])))
    large = explored.create(deployer(diamond([*facets, plain] * 3)))
    abi_of(evm, small)
    abi_of(evm, large)  # the states are cached now

    found = proxies.proxy(evm, large)
    with CaptureQueriesContext(connection) as few:
        alone = abi_of(evm, small)
    with CaptureQueriesContext(connection) as many:
        together = abi_of(evm, large)

    assert found is not None
    assert (found.kind, found.implementations) == (ProxyKind.DIAMOND, (*facets, plain))
    inner = [abi_of(evm, address).functions for address in (*facets, plain)]
    assert alone.functions == inner[0] == inner[1]
    assert together.functions == sum(inner, ())
    assert [function.name for function in inner[3]] == [ABI["name"]]
    assert len(many) == len(few) == 3
    assert not any('"input"' in query["sql"] for query in many)


def test_short_abis_of_facets_are_read(explored: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Address(bytes.fromhex(explored.verified("counter").addresses["counter"]))
    made = explored.create(deployer(diamond([found])))

    assert abi_of(explored.site.evm, made).functions
    monkeypatch.setattr("explorer_app.selectors.verified.MAX_ABI", 10)
    assert abi_of(explored.site.evm, made) == NO_ABI


def test_a_proxy_is_confirmed_as_etherscan_does(explored: Explored) -> None:
    found = explored.deploy("proxy")
    proxy, box = ("0x" + found.addresses[name] for name in ("proxy", "box"))

    def check(address: str, **more: str) -> str:
        form = {"module": "contract", "action": "verifyproxycontract", "address": address, **more}
        guid = explored.post(**form)["result"]
        answered = explored.get(module="contract", action="checkproxyverification", guid=guid)
        return json.dumps(answered)

    assert f"The proxy's ({proxy}) implementation contract is found at {box} and is" in check(proxy)
    assert box in check(proxy, expectedimplementation=box)
    assert "unfortunately not detected" in check(proxy, expectedimplementation=proxy)
    assert "unfortunately not detected" in check(box)
