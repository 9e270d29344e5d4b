"""Verification through Sourcify's API, as forge and hardhat 3 use it."""

import json
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from explorer_app.api import endpoint
from nodeproject.apps import this_node
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.hexadecimal import checksum_address
from tests.conformance.explorer_samples import Sample
from tests.integration.explorer_app.contracts.conftest import Explored

pytestmark = pytest.mark.sqlite_only

CHAIN = "43112"
NOBODY = "0x" + "5f" * 20
JSON = "application/json"


def at(found: Sample) -> str:
    """Return a sample's address as clients write it."""
    return checksum_address(Address(bytes.fromhex(found.addresses[found.fields["verify"]])))


def body(found: Sample, **changes: Any) -> dict[str, Any]:
    fields = found.fields
    return {
        "stdJsonInput": fields["standardJson"],
        "compilerVersion": fields["compilerVersion"].removeprefix("v"),
        "contractIdentifier": fields["contractName"],
        **changes,
    }


def submit(explored: Explored, found: Sample, prefix: str = "", **changes: Any) -> Any:
    path = f"{prefix}/v2/verify/{CHAIN}/{at(found)}"
    return explored.client.post(path, json.dumps(body(found, **changes)), JSON)


def job(explored: Explored, answered: Any) -> Any:
    key = answered.json()["verificationId"]
    return explored.client.get(f"/v2/verify/{key}").json()


def nothing(address: str) -> dict[str, Any]:
    members = dict.fromkeys(("match", "creationMatch", "runtimeMatch"))
    return {**members, "chainId": CHAIN, "address": address}


@pytest.mark.parametrize(("prefix", "letter"), [("", ""), ("/server", "v")])
def test_a_standard_input_is_taken_and_verified(
    explored: Explored, prefix: str, letter: str
) -> None:
    found = explored.deploy("counter")
    there = explored.client.get(f"{prefix}/v2/contract/{CHAIN}/{at(found)}")
    assert (there.status_code, there.json()) == (404, nothing(at(found)))

    version = letter + found.fields["compilerVersion"].removeprefix("v")
    answered = submit(explored, found, prefix, compilerVersion=version)
    assert answered.status_code == 202
    explored.work()

    ended = job(explored, answered)
    assert ended["isJobCompleted"] is True
    assert ended["jobStartTime"].endswith("Z")
    assert ended["jobFinishTime"].endswith("Z")
    assert "error" not in ended
    exact = dict.fromkeys(("match", "creationMatch", "runtimeMatch"), "exact_match")
    assert ended["contract"].items() >= exact.items()
    shown = explored.client.get(f"{prefix}/v2/contract/{CHAIN}/{at(found)}")
    assert shown.status_code == 200
    assert shown.json() == ended["contract"]


def test_a_running_verification_is_reported_as_pending(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "SECONDS", 0.0)
    found = explored.deploy("counter")

    started = job(explored, submit(explored, found))

    assert started["isJobCompleted"] is False
    assert started["contract"] == nothing(at(found))
    again = submit(explored, found)
    assert again.status_code == 429
    assert again.json()["customCode"] == "duplicate_verification_request"


def test_failed_verification_has_an_error_code(explored: Explored) -> None:
    found = explored.deploy("counter")
    source = {"src/Counter.sol": {"content": "contract Counter { uint }"}}

    answered = submit(explored, found, stdJsonInput={"language": "Solidity", "sources": source})
    explored.work()

    error = job(explored, answered)["error"]
    assert error["customCode"] == "compiler_error"
    (said,) = error["errorData"]["compilerErrors"]
    assert "Expected identifier" in said["message"]
    assert error["errorId"]


def test_an_exact_match_is_not_replaced(explored: Explored) -> None:
    found = explored.verified("counter")

    answered = submit(explored, found)

    assert answered.status_code == 409
    assert answered.json()["customCode"] == "already_verified"


REFUSED: list[tuple[str, Any, int, str]] = [
    ("/v2/verify/1/ADDRESS", {}, 400, "unsupported_chain"),
    ("/v2/verify/43112/0x1", {}, 400, "invalid_parameter"),
    ("/v2/verify/43112/ADDRESS", "{", 400, "invalid_json"),
    ("/v2/verify/43112/ADDRESS", "[]", 400, "invalid_parameter"),
    ("/v2/verify/43112/ADDRESS", {"stdJsonInput": None}, 400, "missing_source"),
    ("/v2/verify/43112/ADDRESS", {"compilerVersion": "0.7.0"}, 400, "invalid_compiler_version"),
    ("/v2/verify/43112/ADDRESS", {"contractIdentifier": ""}, 400, "invalid_compilation_target"),
    (f"/v2/verify/43112/{NOBODY}", {}, 400, "contract_not_deployed"),
]


def test_a_failed_verification_has_a_status_and_a_code(explored: Explored) -> None:
    found = explored.deploy("counter")
    for path, sent, status, code in REFUSED:
        text = sent if isinstance(sent, str) else json.dumps(body(found, **sent))

        answered = explored.client.post(path.replace("ADDRESS", at(found)), text, JSON)

        assert answered.status_code == status
        assert answered.json().keys() >= {"customCode", "message", "errorId"}
        assert answered.json()["customCode"] == code


def test_body_is_not_read_for_an_address_without_contract(explored: Explored) -> None:
    for path in (f"/v2/verify/{CHAIN}/{NOBODY}", f"/v2/verify/metadata/{CHAIN}/{NOBODY}"):
        answered = explored.client.post(path, "{", JSON)

        assert answered.status_code == 400
        assert answered.json()["customCode"] == "contract_not_deployed"


def test_too_many_sources_are_refused(explored: Explored) -> None:
    found = explored.deploy("counter")
    many = {str(number): "" for number in range(50_000)}
    for path, sent in (
        (f"/v2/verify/{CHAIN}/{at(found)}", {"stdJsonInput": {"sources": many}}),
        (f"/v2/verify/metadata/{CHAIN}/{at(found)}", {"metadata": {}, "sources": many}),
    ):
        answered = explored.client.post(path, json.dumps(sent), JSON)

        assert answered.status_code == 400
        assert "more than 40000 names and texts" in answered.json()["message"]


def test_an_unknown_verification_is_not_found(explored: Explored) -> None:
    answered = explored.client.get("/v2/verify/00000000-0000-0000-0000-000000000000")

    assert answered.status_code == 404
    assert answered.json()["customCode"] == "job_not_found"


def test_metadata_and_sources_verify_as_well(explored: Explored) -> None:
    found = explored.verified("counter")
    metadata = explored.client.get(
        f"/v2/contract/{CHAIN}/{at(found)}", {"fields": "metadata"}
    ).json()["metadata"]
    other = explored.deploy("counter")
    sources = {
        path: source["content"] for path, source in found.fields["standardJson"]["sources"].items()
    }

    answered = explored.client.post(
        f"/v2/verify/metadata/{CHAIN}/{at(other)}",
        json.dumps({"metadata": metadata, "sources": sources}),
        JSON,
    )
    explored.work()

    assert job(explored, answered)["contract"]["match"] == "exact_match"


def test_all_known_fields_are_returned(explored: Explored) -> None:
    found = explored.verified("proxy")
    path = f"/v2/contract/{CHAIN}/{at(found)}"

    shown = explored.client.get(path, {"fields": "all"}).json()

    fields = found.fields
    assert shown["abi"] == fields["abi"]
    assert shown["sources"] == fields["standardJson"]["sources"]
    assert shown["stdJsonInput"]["settings"]["optimizer"]["runs"] == 999_999
    assert shown["compilation"]["fullyQualifiedName"] == fields["contractName"]
    assert shown["compilation"]["compilerVersion"] == fields["compilerVersion"].removeprefix("v")
    assert shown["creationBytecode"]["onchainBytecode"] == "0x" + found.init_code("proxy").hex()
    assert shown["metadata"]["settings"]["compilationTarget"] == {"src/Proxy.sol": "Proxy"}
    kinds = ("function", "event", "error")
    assert {kind: names_of(shown["signatures"][kind]) for kind in kinds} == {
        kind: [entry["name"] for entry in fields["abi"] if entry["type"] == kind] for kind in kinds
    }
    assert shown["proxyResolution"] == {
        "isProxy": True,
        "proxyType": "EIP1967Proxy",
        "implementations": [
            {"address": checksum_address(Address(bytes.fromhex(found.addresses["box"])))}
        ],
    }
    assert shown["deployment"]["deployer"] == checksum_address(explored.chain.make().sender)
    chosen = explored.client.get(path, {"fields": "compilation.name,abi"}).json()
    assert chosen["compilation"] == {"name": "Proxy"}
    without = explored.client.get(path, {"omit": "abi"}).json()
    assert without.keys() == shown.keys() - {"abi"}


def names_of(signatures: list[dict[str, str]]) -> list[str]:
    """Return the names of signatures."""
    return [signature["signature"].partition("(")[0] for signature in signatures]


def test_signatures_are_returned_with_hashes(explored: Explored) -> None:
    found = explored.verified("counter")

    path = f"/v2/contract/{CHAIN}/{at(found)}"
    signatures = explored.client.get(path, {"fields": "signatures"}).json()["signatures"]

    declared = [entry["name"] for entry in found.fields["abi"] if entry["type"] == "function"]
    assert names_of(signatures["function"]) == declared
    (set_number,) = (
        signature for signature in signatures["function"] if "setNumber" in signature["signature"]
    )
    whole = "0x" + keccak256(b"setNumber(uint256)").hex()
    assert whole.startswith("0x3fb5c1cb")
    assert set_number == {
        "signature": "setNumber(uint256)", "signatureHash32": whole, "signatureHash4": "0x3fb5c1cb",
    }  # fmt: skip


def test_unknown_fields_are_refused(explored: Explored) -> None:
    found = explored.verified("counter")
    for query in ({"fields": "abi", "omit": "abi"}, {"fields": "other"}, {"fields": "abi.other"}):
        answered = explored.client.get(f"/v2/contract/{CHAIN}/{at(found)}", query)

        assert answered.status_code == 400
        assert answered.json()["customCode"] == "invalid_parameter"


def test_verified_contracts_are_listed(
    explored: Explored, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    first, second = explored.verified("counter"), explored.verified("vault")

    listed = explored.client.get(f"/v2/contracts/{CHAIN}", {"limit": "1"}).json()["results"]
    assert [contract["address"] for contract in listed] == [at(second)]
    after = {"afterMatchId": listed[0]["matchId"]}
    rest = explored.client.get(f"/v2/contracts/{CHAIN}", after).json()["results"]
    with django_assert_num_queries(1):
        both = explored.client.get(f"/v2/contracts/{CHAIN}").json()["results"]
    assert both == listed + rest
    assert [contract["address"] for contract in rest] == [at(first)]
    everywhere = explored.client.get(f"/v2/contract/all-chains/{at(first)}").json()
    assert everywhere["results"] == rest


def test_hardhat_2_gets_verified_addresses(explored: Explored) -> None:
    found = explored.verified("counter")
    asked = {"addresses": f"{at(found)},{NOBODY}", "chainIds": CHAIN}

    answered = explored.client.get("/check-all-by-addresses", asked).json()

    assert answered == [
        {"address": at(found), "chainIds": [{"chainId": CHAIN, "status": "perfect"}]},
        {"address": NOBODY, "status": "false"},
    ]


def test_printed_links_redirect_to_the_contract_page(explored: Explored) -> None:
    for path in ("/repo-ui/{}/{}", "/server/repo-ui/{}/{}", "/contracts/full_match/{}/{}/"):
        answered = explored.client.get(path.format(CHAIN, NOBODY))

        assert answered.status_code == 302
        assert answered["Location"] == f"/address/{NOBODY}?tab=contract"


def test_body_limit_is_larger_for_sources_than_for_pages(explored: Explored) -> None:
    from nodeproject.asgi import body_limit

    settings = this_node().settings
    for path in (
        "/api",
        "/v2/api/",
        "/chain/C/api",
        "/chain/a name/v2/api",
        f"/v2/verify/{CHAIN}/{NOBODY}",
        f"/server/v2/verify/{CHAIN}/{NOBODY}",
    ):
        assert body_limit(settings, path) == 2 * settings.explorer.source_limit
    for path in ("/admin/", "/apis", "/txs", "/chain/C/txs", "/chain/C/more/api"):
        assert body_limit(settings, path) == settings.page_body_limit
