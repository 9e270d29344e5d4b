"""Names of contracts on pages: of tokens, verified contracts and proxies, in a number of statements that is bounded."""

import re

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from cchain_app.config import BLACKHOLE
from cchain_app.models import Receipt
from explorer_app.names.book import NO_ABI
from explorer_app.selectors import cchain, verified
from explorer_app.selectors import labels as selector
from explorer_app.selectors.labels import labels
from explorer_app.verification.proxies import SLOTS
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.builders import puppet
from tests.builders.bytecode import words
from tests.builders.transactions import RECIPIENT, SENDER
from tests.integration.conftest import Chain
from tests.integration.explorer_app.contracts.conftest import Explored, explored
from tests.integration.explorer_app.contracts.test_proxies import DELEGATES, deployer, word
from tests.integration.explorer_app.token_chain import NOBODY, TokenChain, erc20

__all__ = ["explored"]

pytestmark = pytest.mark.usefixtures("pchain")  # pages need its genesis

MOST = 8
"""Statements for the names of all contracts of a page."""


def text_of(address: bytes) -> str:
    return str(checksum_address(Address(bytes(address))))


def token(tokens: TokenChain, name: bytes, symbol: bytes) -> Address:
    """Deploy an ERC-20 that has emitted a transfer."""
    address = tokens.deploy(puppet.of_erc20(name, symbol))
    tokens.call(address, erc20(NOBODY, RECIPIENT, 1_500_000))
    return address


def page(path: str) -> str:
    answer = Client(headers={"host": "localhost"}).get(path)
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.fixture
def market(explored: Explored) -> Address:
    """A verified contract."""
    sample = explored.verified("counter")
    return Address(bytes.fromhex(sample.addresses[sample.fields["verify"]]))


def test_verified_contract_name_labels_its_proxies(explored: Explored, market: Address) -> None:
    by_slot = explored.create(deployer(DELEGATES, slots={SLOTS[0].slot: word(market)}))
    clone = explored.create(
        deployer(bytes.fromhex("363d3d373d3d3d363d73") + market + bytes.fromhex("5af43d82803e903d91602b57fd5bf3"))
    )  # fmt: skip
    plain = explored.create(deployer(DELEGATES))
    found = labels(explored.site.evm, [by_slot, clone, market, plain, SENDER])
    name = found[market].name

    assert set(found) == {market, by_slot, clone}
    assert [found[at].name for at in (by_slot, clone)] == [f"Proxy ({name})"] * 2
    # The code of a clone only runs the implementation; that of a contract with a slot may do anything.
    assert {at for at, label in found.items() if label.is_verified} == {market, clone}
    assert found[by_slot].kind == "unverified"
    assert "the proxy's own code is not" in found[by_slot].remark


def test_verified_proxy_is_named_after_its_verified_implementation(
    explored: Explored,
) -> None:
    sample = explored.verified("proxy")
    proxy = Address(bytes.fromhex(sample.addresses[sample.fields["verify"]]))
    (label,) = labels(explored.site.evm, [proxy]).values()

    assert "Proxy (" not in label.name
    assert (label.is_verified, label.kind) == (False, "unverified")
    assert label.remark.endswith("the implementation is not")

    box = {"contractaddress": f"0x{sample.addresses['box']}", "contractname": "src/Box.sol:Box"}
    explored.post(**explored.form(sample, **box, constructorArguements=""))
    explored.work()
    (label,) = labels(explored.site.evm, [proxy]).values()
    assert (label.name, label.is_verified, label.kind) == ("Proxy (Box)", True, "")


def test_an_implementation_is_named_in_the_head_of_each_tab(
    explored: Explored, market: Address
) -> None:
    proxy = explored.create(deployer(DELEGATES, slots={SLOTS[0].slot: word(market)}))
    name = labels(explored.site.evm, [market])[market].name

    for tab in ("", "tokens", "inner", "events", "contract"):
        text = page(f"/address/{text_of(proxy)}?tab={tab}")
        assert f"<title>Proxy ({name}) {text_of(proxy)[:6]}" in text
        head = text.partition('<nav class="tabs"')[0]
        assert "<dt>Implementation</dt>" in head
        assert f'href="/address/{text_of(market)}"' in head
        assert f'<bdi class="claimed">{name}</bdi>' in head
    for part in ("read", "write", "storage"):
        assert "<dt>Implementation</dt>" in page(f"/address/{text_of(proxy)}/{part}")


def test_token_is_labelled_by_symbol_and_copies_are_marked(tokens: TokenChain) -> None:
    first, second = token(tokens, b"Gold", b"GLD"), token(tokens, b"Gold", b"GLD")
    spam = token(tokens, b"claim at www.example.com", b"example.com")
    nameless = token(tokens, b"Only a name", b"")
    tokens.index()
    found = labels(tokens.chain.evm, [first, second, spam, nameless])

    assert {at: (label.name, label.is_copy) for at, label in found.items()} == {
        first: ("GLD", False), second: ("GLD", True), nameless: ("Only a name", False),
    }  # fmt: skip
    listed = page("/txs")
    assert (
        f'<bdi class="claimed">GLD</bdi> <small title="a token whose source code is not verified">token</small> <small class="hex">…{text_of(first)[-4:]}'
        in listed
    )
    assert "example.com" not in listed
    assert listed.count(">lookalike<") == 2


@pytest.mark.node_settings(coin_symbol="GLD", coin_name="Gold")
def test_token_that_imitates_the_coin_is_marked(tokens: TokenChain) -> None:
    copies = [token(tokens, b"Something", b"gld"), token(tokens, b"GOLD", b"X")]
    other = token(tokens, b"Avalanche", b"AVAX")
    tokens.index()
    found = labels(tokens.chain.evm, [*copies, other])

    assert [found[at].is_copy for at in (*copies, other)] == [True, True, False]


def test_the_rules_of_the_chain_name_precompiles_and_the_burned_fees(chain: Chain) -> None:
    recover, nothing = Address((1).to_bytes(20, "big")), Address((0x7FFF).to_bytes(20, "big"))
    chain.do(to=recover, value=0, gas=100_000)
    found = labels(chain.evm, [recover, nothing, BLACKHOLE])

    assert {at: (label.name, label.is_verified) for at, label in found.items()} == {
        recover: ("ECREC", False), BLACKHOLE: ("Burned fees", False),
    }  # fmt: skip
    assert "ECREC</bdi> <small>precompile</small>" in page("/txs")
    assert "Burned fees</bdi> <small>no key is known</small>" in page("/block/1")


def test_names_take_as_many_statements_for_fifty_contracts_as_for_two(
    explored: Explored, market: Address
) -> None:
    tokens = TokenChain(explored.chain)
    evm = explored.site.evm
    made = tokens.deploy_many([puppet.of_erc20(b"T%d" % at, b"S%d" % at) for at in range(25)])
    for address in made:
        tokens.call(address, erc20(NOBODY, RECIPIENT, 1))
    tokens.index()
    made += [
        explored.create(deployer(DELEGATES, slots={SLOTS[0].slot: word(market)})) for _ in range(25)
    ]
    counts = []
    for addresses in (made[24:26], made):
        with CaptureQueriesContext(connection) as queries:
            found = labels(evm, addresses)
        assert set(found) == set(addresses)
        counts.append(len(queries))

    assert counts[0] == counts[1] <= MOST
    with CaptureQueriesContext(connection) as queries:
        assert labels(evm, [SENDER, RECIPIENT]) == {}
    assert len(queries) == 1


def test_no_more_than_some_names_are_read_for_a_page(
    tokens: TokenChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [token(tokens, b"One", b"ONE"), token(tokens, b"Two", b"TWO")]
    tokens.index()
    monkeypatch.setattr(selector, "MAX_LABELS", 1)

    assert list(labels(tokens.chain.evm, made)) == made[:1]


def test_a_transactions_sentence_and_decoded_values_have_the_tokens_decimals(
    tokens: TokenChain,
) -> None:
    transfer = keccak256(b"transfer(address,uint256)")[:4]
    answers = {**puppet.of_erc20(b"Gold", b"GLD"), transfer: puppet.answering(words(1))}
    address = tokens.deploy(answers)
    tokens.call(address, erc20(NOBODY, RECIPIENT, 1_500_000))
    tokens.index()
    data = transfer + words(RECIPIENT, 301_250_000)
    sent, _ = tokens.chain.do(to=address, data=data, value=0, gas=200_000)
    text = page(f"/tx/0x{sent.hash.hex()}")
    sentence = re.sub(r"<[^>]*>", "", text.partition('<p class="summary">')[2].partition("</p>")[0])
    shown = text_of(RECIPIENT)

    assert (
        sentence
        == f"{text_of(SENDER)[:6]}…{text_of(SENDER)[-4:]} sent 301.25 GLD to {shown[:6]}…{shown[-4:]}"
    )
    assert (
        '<b class="num"><bdi>301.25 GLD</bdi></b> <span class="hex faint">301250000</span>' in text
    )
    minted = page(f"/tx/0x{cchain.transactions(tokens.chain.evm)[1].hash.hex()}")
    assert '<b class="num"><bdi>1.5 GLD</bdi></b>' in minted


def test_methods_in_lists_have_the_names_of_the_contracts_abi(
    explored: Explored, market: Address
) -> None:
    proxy = explored.create(deployer(DELEGATES, slots={SLOTS[0].slot: word(market)}))
    abi = verified.abi_of(explored.site.evm, market)
    function = next(one for one in abi.functions if not one.parameters)
    for to in (market, proxy):
        explored.chain.send(
            explored.chain.make(to=to, data=function.selector, value=0, gas=200_000)
        )
    explored.chain.mine()

    for path in ("/txs", f"/address/{text_of(SENDER)}", "/"):
        assert page(path).count(f'title="{function.name}"') == 2, path


def test_the_abis_of_a_list_are_read_up_to_a_limit(
    explored: Explored, market: Address, monkeypatch: pytest.MonkeyPatch
) -> None:
    evm = explored.site.evm
    (abi,) = verified.abis(evm, [market, SENDER]).values()
    assert abi.functions
    monkeypatch.setattr(verified, "MAX_LISTED_ABIS", 10)
    assert verified.abis(evm, [market]) == {market: NO_ABI}


def test_a_text_to_an_account_is_a_message_in_lists(chain: Chain) -> None:
    chain.do(data=b"hello there", value=0, gas=100_000)

    assert page("/txs").count('title="Message"') == 1


def test_names_stand_beside_addresses_in_the_admin(
    explored: Explored, market: Address, admin_client: Client
) -> None:
    chain = explored.site.evm
    name = labels(chain, [market])[market].name
    path = "/admin/cchain_app/transaction/"
    with CaptureQueriesContext(connection) as asked:
        listed = admin_client.get(path).content.decode()
    with_names = len(asked)

    assert f">{name} ✓</span>" in listed
    assert listed.count(text_of(market)) > listed.count(f"{name} ✓")  # the address stays
    created = Receipt.objects.get(contract_address=market).pk
    own = admin_client.get(f"{path}{created}/change/").content.decode()
    assert f">{name} ✓</span>" in own
    config = apps.get_app_config("cchain_app")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(config, "names", None)
        with CaptureQueriesContext(connection) as asked:
            assert "✓" not in admin_client.get(path).content.decode()
    assert with_names - len(asked) <= MOST


def test_plain_names_say_what_is_behind_them(tokens: TokenChain, pchain: object) -> None:
    first, second = token(tokens, b"Gold", b"GLD"), token(tokens, b"Gold", b"GLD")
    tokens.index()

    assert selector.plain_names(tokens.chain.evm, [first, second, BLACKHOLE, SENDER]) == {
        first: "GLD (token)",
        second: "GLD (not the first of this name)",
        BLACKHOLE: "Burned fees (no key is known)",
    }
