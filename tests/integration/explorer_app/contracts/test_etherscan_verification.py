"""Verification through Etherscan's API, as forge and hardhat use it, compared with recorded exchanges."""

import json
from typing import Any
from unittest.mock import Mock

import pytest

from cchain_app.selectors import tracing
from cchain_app.selectors.blocks import NoGenesis
from cchain_app.services.calls import index_calls
from explorer_app.api import endpoint
from explorer_app.models import Verification, VerifiedContract
from explorer_app.selectors import traces
from nodeproject.apps import this_node
from tests.builders.compilers import RecordedCompilers
from tests.conformance.explorer_samples import NAMES, VECTORS
from tests.integration.explorer_app.contracts.conftest import FORM, PASSED, Explored, refused

pytestmark = pytest.mark.sqlite_only

UNVERIFIED = {"status": "0", "message": "NOTOK", "result": "Contract source code not verified"}
ADDRESS = "0x" + "5f" * 20


def exchange(key: str) -> list[dict[str, Any]]:
    """Return the steps of a recorded exchange."""
    recorded = json.loads((VECTORS / "exchanges.json").read_text())["exchanges"]
    (steps,) = (entry["steps"] for entry in recorded if entry["id"] == key)
    return steps


@pytest.mark.parametrize("name", NAMES)
def test_a_deployed_contract_is_verified(explored: Explored, name: str) -> None:
    found = explored.verified(name)
    fields = found.fields
    (row,) = VerifiedContract.objects.all()

    expected = "exact_match" if name == "linked" else fields["expectedMatch"]
    assert row.runtime_match == row.creation_match == expected
    asked = {"module": "contract", "address": "0x" + found.addresses[fields["verify"]]}
    assert json.loads(explored.get(action="getabi", **asked)["result"]) == fields["abi"]
    (source,) = explored.get(action="getsourcecode", **asked)["result"]
    assert source["ContractName"] == fields["contractName"].rpartition(":")[2]
    assert source["CompilerVersion"] == fields["compilerVersion"]
    assert source["ConstructorArguments"] == fields["constructorArguments"]
    assert json.loads(source["SourceCode"][1:-1])["sources"] == fields["standardJson"]["sources"]
    optimizer = fields["standardJson"]["settings"]["optimizer"]
    assert source["OptimizationUsed"] == str(int(optimizer["enabled"]))
    assert source["Runs"] == str(optimizer["runs"])
    assert source["EVMVersion"] == fields["standardJson"]["settings"]["evmVersion"]


@pytest.mark.parametrize(
    "key",
    ["forge-custom", "forge-etherscan-v2", "hardhat2-etherscan", "hardhat3-etherscan", "hardhat3-blockscout"],
)  # fmt: skip
def test_recorded_client_requests_get_the_expected_answers(explored: Explored, key: str) -> None:
    address = "0x" + explored.create(bytes.fromhex("600160005360016000f3")).hex()
    steps = exchange(key)
    for step in steps[:2]:
        request = step["request"]
        path = request["path"].replace(recorded_address(steps), address)
        form = {
            name: address if name == "contractaddress" else value
            for name, value in request.get("form", {}).items()
        }
        answered = explored.post(path, **form) if form else explored.client.get(path).json()
        expected = step["response"]["json"]
        assert answered.keys() == expected.keys()
        if isinstance(expected["result"], list) or expected["status"] == "0":
            assert answered == expected
        else:
            assert answered["status"] == expected["status"]
            assert answered["message"] == expected["message"]
            assert answered["result"].isalnum()


def recorded_address(steps: list[dict[str, Any]]) -> str:
    """Return the address as the first request of an exchange writes it."""
    return str(steps[0]["request"]["path"].rpartition("address=")[2].partition("&")[0])


def test_a_queued_verification_is_pending(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "SECONDS", 0.0)
    found = explored.deploy("counter")

    guid = explored.post(**explored.form(found))["result"]

    assert explored.status(guid) == refused("Pending in queue")
    explored.work()
    assert explored.status(guid) == PASSED


def test_identical_concurrent_requests_are_one_verification(explored: Explored) -> None:
    found = explored.deploy("counter")

    first, second = (explored.post(**explored.form(found)) for _ in range(2))

    assert first == second
    assert explored.work() == 1


def test_an_exact_match_cannot_become_better(explored: Explored) -> None:
    found = explored.verified("counter")

    assert explored.post(**explored.form(found)) == refused("Contract source code already verified")


def test_partial_match_is_replaced_only_by_a_better_match(explored: Explored) -> None:
    found = explored.verified("comment")
    given = found.fields["standardJson"]
    again = explored.post(**explored.form(found))["result"]
    explored.work()
    assert explored.status(again)["result"] == "Already Verified"

    path, old, new = found.fields["exactVariant"]["replace"]
    given["sources"][path]["content"] = given["sources"][path]["content"].replace(old, new)
    better = explored.post(**explored.form(found, sourceCode=json.dumps(given)))["result"]
    explored.work()

    assert explored.status(better) == PASSED
    assert VerifiedContract.objects.get().runtime_match == "exact_match"


def test_single_file_keeps_source_and_licence(explored: Explored) -> None:
    found = explored.deploy("counter")
    (source,) = found.fields["standardJson"]["sources"].values()
    form = explored.form(
        found, sourceCode=source["content"], codeformat="solidity-single-file", contractname="Counter",
        optimizationUsed="0", runs="200", licenseType="3",
    )  # fmt: skip

    guid = explored.post(**form)["result"]
    explored.work()

    assert explored.status(guid) == PASSED
    address = "0x" + found.addresses["counter"]
    (row,) = explored.get(module="contract", action="getsourcecode", address=address)["result"]
    assert row["SourceCode"] == source["content"]
    assert (row["LicenseType"], row["EVMVersion"]) == ("MIT", "paris")


def test_wrong_contract_is_refused_with_client_message_and_reason(
    explored: Explored,
) -> None:
    found, other = explored.deploy("counter"), explored.deploy("vault")
    at = "0x" + other.addresses["vault"]

    guid = explored.post(**explored.form(found, contractaddress=at))["result"]
    explored.work()

    answered = dict(explored.status(guid))
    assert answered.pop("reason").startswith("The compiled code has ")
    assert answered == refused("Fail - Unable to verify")
    assert not VerifiedContract.objects.exists()


def test_wrong_constructor_arguments_are_reported(explored: Explored) -> None:
    found = explored.deploy("vault")

    guid = explored.post(**explored.form(found, constructorArguements="00" * 32))["result"]
    explored.work()

    assert explored.status(guid)["result"] == (
        "Fail - Unable to verify. Please check for correct constructor argument"
    )


MALFORMED: list[tuple[dict[str, str], str]] = [
    ({"contractaddress": ADDRESS}, f"Unable to locate ContractCode at {ADDRESS}"),
    ({"contractaddress": "0x1"}, "Error! Invalid address format"),
    ({"codeformat": "other"}, "Missing or unsupported codeformat"),
    ({"contractname": ""}, "Contract name missing"),
    ({"sourceCode": "{"}, "The source is not valid JSON"),
    (
        {"compilerversion": "what"},
        "Invalid or not supported solc version 'what', see /solcversions for list",
    ),
    ({"action": "other"}, "Error! Missing Or invalid Action name"),
    ({"module": "other"}, "Error! Missing Or invalid Module name"),
    (
        {"chainid": "1"},
        "Missing or unsupported chainid parameter (required for v2 api), please see "
        "/v2/chainlist for the list of supported chainids",
    ),
]


def test_malformed_input_is_refused_immediately(explored: Explored) -> None:
    found = explored.deploy("counter")

    for changes, text in MALFORMED:
        assert explored.post(**explored.form(found, **changes)) == refused(text)
    assert not Verification.objects.exists()


def test_writing_actions_require_post(explored: Explored) -> None:
    found = explored.deploy("counter")

    assert (
        explored.get(**explored.form(found))["result"] == "Error! This action needs a POST request"
    )


def test_sources_for_an_address_without_a_contract_are_not_read(explored: Explored) -> None:
    found = explored.deploy("counter")
    form = explored.form(found, contractaddress=ADDRESS, sourceCode="{", compilerversion="")

    assert explored.post(**form) == refused(f"Unable to locate ContractCode at {ADDRESS}")


def test_missing_compiler_is_reported_with_installation_hint(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = explored.deploy("counter")
    monkeypatch.setattr(this_node().explorer, "compilers", RecordedCompilers("0.8.20"))

    answered = explored.post(**explored.form(found))["result"]

    assert answered.startswith("Invalid or not supported solc version 0.8.37, see /solcversions")
    assert "npm install solc-0.8.37@npm:solc@0.8.37" in answered
    assert explored.get("/solcversions") == {"builds": [{"version": "0.8.20"}]}


@pytest.mark.node_settings(source_limit=1000)
def test_a_submission_has_a_limit(explored: Explored, monkeypatch: pytest.MonkeyPatch) -> None:
    found = explored.deploy("counter")
    monkeypatch.setattr(this_node().explorer, "compilers", RecordedCompilers())

    small = explored.form(found, sourceCode="x" * 1001)
    assert explored.post(**small)["result"] == "The submission is longer than 1000 bytes"
    of_json = explored.client.post("/api", small, "application/json").json()
    assert of_json["result"] == "The submission is longer than 1000 bytes"
    large = explored.form(found, sourceCode="x" * 5000)
    assert explored.post(**large)["result"] == "The request is longer than 1000 bytes"


@pytest.mark.node_settings(verifications=20)
def test_client_can_use_a_tenth_of_the_queue(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(this_node().explorer, "compilers", RecordedCompilers())
    found = explored.deploy("counter")
    for runs in ("1", "2"):
        form = explored.form(found, contractname=f"src/Counter.sol:Counter{runs}")
        assert explored.post(**form)["status"] == "1"

    answered = explored.post(**explored.form(found))

    assert answered["result"] == "Max rate limit reached"
    assert answered["reason"].startswith("2 of your verifications are pending")


def test_unknown_guid_is_refused(explored: Explored) -> None:
    for guid in ("nosuch", "no\0such", ""):
        assert explored.status(guid) == refused("Unknown UID")
    assert explored.client.get("/v2/verify/a%00b").json()["customCode"] == "job_not_found"


def test_an_unverified_contract_has_no_abi_and_no_source(explored: Explored) -> None:
    (expected,) = exchange("hardhat3-etherscan")[0]["response"]["json"]["result"]
    for address in (ADDRESS, "0x" + explored.create(bytes.fromhex("600160005360016000f3")).hex()):
        asked = {"module": "contract", "address": address}
        assert explored.get(action="getabi", **asked) == UNVERIFIED
        assert explored.get(action="getsourcecode", **asked)["result"] == [expected]


def test_contract_with_the_same_code_shows_the_same_sources(explored: Explored) -> None:
    first = explored.verified("counter")
    VerifiedContract.objects.update(arguments=b"\xab\xcd")
    own = {"module": "contract", "address": "0x" + first.addresses["counter"]}
    second = explored.deploy("counter")

    asked = {"module": "contract", "address": "0x" + second.addresses["counter"]}
    (source,) = explored.get(action="getsourcecode", **asked)["result"]

    assert source["SimilarMatch"] == "0x" + first.addresses["counter"]
    assert source["ContractName"] == "Counter"
    assert source["ConstructorArguments"] == ""  # the arguments belong to the other contract
    (verified,) = explored.get(action="getsourcecode", **own)["result"]
    assert verified["ConstructorArguments"] == "abcd"
    assert json.loads(explored.get(action="getabi", **asked)["result"]) == first.fields["abi"]


def test_contract_creation_is_returned_with_its_code(explored: Explored) -> None:
    found = explored.deploy("counter")
    address = "0x" + found.addresses["counter"]

    (row,) = explored.get(
        module="contract", action="getcontractcreation", contractaddresses=address
    )["result"]

    recorded = exchange("cast-creation-code")[0]["response"]["json"]["result"][0]
    assert row.keys() == recorded.keys()
    assert row["contractAddress"] == address
    assert row["contractFactory"] == ""
    assert row["creationBytecode"] == found.steps[0]["data"]
    nobody = explored.get(
        module="contract", action="getcontractcreation", contractaddresses=ADDRESS
    )
    assert nobody == {"status": "1", "message": "OK", "result": None}


def assert_executes_in_turn(
    explored: Explored, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Assert that a response waits while two others execute, and executes once for all of its fields."""
    creation = {"module": "contract", "action": "getcontractcreation", "contractaddresses": address}
    fields = "creationBytecode,creationBytecode.onchainBytecode,creationBytecode"
    path = f"/v2/contract/43112/{address}"
    monkeypatch.setattr(traces, "PATIENCE", 0.01)
    execute = Mock(side_effect=tracing.trace_transaction)
    monkeypatch.setattr(tracing, "trace_transaction", execute)

    with explored.site.executing, explored.site.executing:
        assert explored.get(**creation) == refused("Max rate limit reached")
        busy = explored.client.get(path, {"fields": fields})
    assert (busy.status_code, busy.json()["customCode"]) == (429, "too_many_requests")
    assert not execute.called

    answered = explored.client.get(path, {"fields": fields})
    assert answered.json()["creationBytecode"]["onchainBytecode"]
    assert execute.call_count == 1


def test_contract_created_by_a_factory_is_verified_by_both_codes(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    init_code = explored.deploy("counter").init_code("counter")
    # The factory has empty code; its constructor creates the contract appended to the init code.
    size = f"61{len(init_code):04x}"
    creates = bytes.fromhex(f"{size}6016600039{size}60006000f05060016000f3")
    factory = explored.create(creates + init_code)
    index_calls(explored.site.evm, seconds=60)
    from cchain_app.models import Call

    created = Call.objects.filter(creates=True, depth=1).get()
    fields = explored.deploy("counter")
    address = created.to
    assert address is not None

    guid = explored.post(**explored.form(fields, contractaddress=str(address)))["result"]
    explored.work()

    assert explored.status(guid) == PASSED
    assert VerifiedContract.objects.get().creation_match == "exact_match"
    (row,) = explored.get(
        module="contract", action="getcontractcreation", contractaddresses=str(address)
    )["result"]
    assert row["contractFactory"] == "0x" + factory.hex()
    assert row["creationBytecode"] == "0x" + init_code.hex()
    assert_executes_in_turn(explored, str(address), monkeypatch)


def test_an_abi_can_be_supplied_without_sources(explored: Explored) -> None:
    found = explored.deploy("counter")
    address = "0x" + found.addresses["counter"]
    give = {"module": "contract", "action": "supplyabi", "address": address}

    answered = explored.post(**give, abi=json.dumps(found.fields["abi"]))

    assert answered == {"status": "1", "message": "OK", "result": "ABI supplied, not verified"}
    asked = {"module": "contract", "address": address}
    assert json.loads(explored.get(action="getabi", **asked)["result"]) == found.fields["abi"]
    (source,) = explored.get(action="getsourcecode", **asked)["result"]
    assert source["SourceCode"] == source["ContractName"] == ""
    for malformed in ("{}", '[{"type":[]}]', "1" * 5000):
        assert explored.post(**give, abi=malformed)["result"].startswith("The ABI cannot be read")
    assert explored.post(**give, abi="[" * 10)["result"].endswith("it is not JSON")
    flood = explored.post(**give, abi="[" + "[]," * 60_000 + "0]")["result"]
    assert flood.endswith("it has more than 100000 values, or 64 levels")
    assert explored.post(**give | {"address": ADDRESS}, abi="[]")["result"].startswith("Unable to")

    guid = explored.post(**explored.form(found))["result"]
    explored.work()
    assert explored.status(guid) == PASSED
    assert explored.post(**give, abi="[]")["result"].startswith("The contract is verified")


def test_replaced_code_is_not_verified(explored: Explored) -> None:
    found = explored.verified("counter")
    VerifiedContract.objects.update(code_hash=bytes(32))

    address = "0x" + found.addresses["counter"]

    assert explored.get(module="contract", action="getabi", address=address) == UNVERIFIED


def test_answers_are_for_every_origin_by_default(explored: Explored) -> None:
    answered = explored.client.get("/api/", {"module": "contract"}, headers={"origin": "http://a"})
    asked = explored.client.options("/api", headers={"origin": "http://a"})

    assert answered["Access-Control-Allow-Origin"] == asked["Access-Control-Allow-Origin"] == "*"
    assert asked.status_code == 204
    assert asked["Access-Control-Allow-Methods"] == "POST, GET, OPTIONS"


@pytest.mark.node_settings(allowed_origins=("http://a.test",))
def test_allowed_origins_equal_those_of_the_rpc(explored: Explored) -> None:
    for path in ("/api", "/v2/contracts/43112"):
        for ask in (explored.client.get, explored.client.options):
            answered = ask(path, headers={"origin": "http://a.test"})
            other = ask(path, headers={"origin": "http://b.test"})

            assert answered["Access-Control-Allow-Origin"] == "http://a.test"
            assert "Access-Control-Allow-Origin" not in other
            assert answered["Vary"] == other["Vary"] == "origin"


def test_unreadable_input_gets_an_error_in_the_interfaces_format(explored: Explored) -> None:
    fields = "&".join(f"a{number}=1" for number in range(2000))
    ask, parts = explored.client, "multipart/form-data"
    for answered in (
        ask.post("/api", fields, FORM),
        ask.get(f"/api?{fields}"),
        ask.get(f"/v2/api?{fields}"),
        ask.post("/api", {f"a{number}": "" for number in range(2000)}, "application/json"),
    ):
        assert answered.status_code == 200
        assert answered.json() == refused("The form has more than 1000 fields")
    for answered in (
        ask.post("/api", b"--x\r\n", parts),
        ask.post("/api", b"--x\r\n", f"{parts}; boundary={'x' * 300}"),
        ask.post(
            "/api",
            b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\n" + b"b" * 3_000_000,
            parts + "; boundary=x",
        ),
        ask.post("/api", b"[]", "application/json"),
    ):
        assert (answered.status_code, answered.json()) == (200, refused("The form cannot be read"))
    address = "0x" + "5f" * 20
    for answered in (
        ask.get(f"/v2/contract/43112/{address}?{fields}"),
        ask.get(f"/v2/contracts/43112?{fields}"),
    ):
        assert answered.status_code == 400
        assert answered.json()["customCode"] == "invalid_parameter"


# In production, Redis counts requests from the server's event loop, which a test does not have.
@pytest.mark.node_settings(rate_limit=2, profile="embedded")
def test_clients_are_limited_as_at_the_chains_interface(explored: Explored) -> None:
    answers = [explored.get(module="stats", action="ethprice")["result"] for _ in range(3)]

    assert answers[-1] == "Max rate limit reached"
    assert "Max rate limit reached" not in answers[:2]


def test_without_a_chain_every_request_is_refused(
    explored: Explored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cchain_app.selectors.blocks.head", Mock(side_effect=NoGenesis))

    answered = explored.get(module="contract", action="getabi", address=ADDRESS)
    assert answered["result"].startswith("The chain cannot be read at the moment")
    sourcify = explored.client.get(f"/v2/contract/43112/{ADDRESS}")
    assert (sourcify.status_code, sourcify.json()["customCode"]) == (503, "internal_error")
