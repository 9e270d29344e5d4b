"""Contracts compiled with the compilers of their time, compared to the deployed code."""

import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from explorer_app.verification.attempts import VerificationResult, verify
from explorer_app.verification.comparing import Match, OnChain
from explorer_app.verification.compilers import CompilerVersion
from explorer_app.verification.errors import (
    CompilerErrors,
    NoMatch,
    OtherArguments,
    VerificationFailed,
    VerificationReason,
)
from explorer_app.verification.submission import (
    SINGLE_FILE,
    Submission,
    from_form,
    read_input,
    split_name,
)
from primitives.evm import Address
from tests.builders.compilers import RecordedCompilers
from tests.builders.reasons import raises
from tests.conformance.explorer_samples import NAMES, Sample, sample

ANY = Address(bytes(19) + b"\x01")
VERSION = "0.8.37"


def compiler(version: CompilerVersion) -> Callable[[bytes], Any]:
    compilers = RecordedCompilers()
    return lambda text: compilers.compile(version, text, until=time.monotonic() + 60).output


def submitted(found: Sample, given: Mapping[str, Any], **changes: Any) -> Submission:
    fields = {
        "address": ANY,
        "input": read_input(json.dumps(given)),
        "version": CompilerVersion.parse(found.fields["compilerVersion"]),
        **changes,
    }
    if "name" not in changes:
        fields["path"], fields["name"] = split_name(found.fields["contractName"])
    return Submission(**fields)


def on_chain(found: Sample) -> OnChain:
    """Return the deployed code, with numbered immutables and the addresses of deployed libraries."""
    runtime = found.fields["runtime"]
    code = runtime["object"]
    for libraries in runtime["linkReferences"].values():
        for name, places in libraries.items():
            for place in places:
                at = 2 * place["start"]
                code = code[:at] + found.addresses[name.lower()] + code[at + 40 :]
    for key, places in runtime["immutableReferences"].items():
        for place in places:
            at = 2 * place["start"]
            code = code[:at] + f"{int(key):064x}" + code[at + 64 :]
    return OnChain(bytes.fromhex(code), found.init_code(found.fields["verify"]))


def check(submission: Submission, chain: OnChain) -> VerificationResult:
    return verify(submission, chain, compiler(submission.version))


@pytest.mark.parametrize("name", NAMES)
def test_a_contract_matches_by_its_creation_and_its_runtime_code(name: str) -> None:
    found = sample(name)

    verified = check(submitted(found, found.fields["standardJson"]), on_chain(found))

    # The mismatch caused by libraries in the settings disappears when they are omitted.
    expected = "exact_match" if name == "linked" else found.fields["expectedMatch"]
    assert verified.comparison.runtime == verified.comparison.creation == expected
    assert verified.comparison.arguments == bytes.fromhex(found.fields["constructorArguments"])
    assert verified.compiled.abi == found.fields["abi"]


@pytest.mark.parametrize("name", NAMES)
def test_runtime_code_decides_without_creation_code(name: str) -> None:
    found = sample(name)
    chain = on_chain(found)._replace(creation=None)

    verified = check(submitted(found, found.fields["standardJson"]), chain)

    assert verified.comparison.runtime is not None
    assert verified.comparison.creation is verified.comparison.arguments is None


def test_the_very_comment_makes_the_match_exact() -> None:
    found = sample("comment")
    path, old, new = found.fields["exactVariant"]["replace"]
    given = found.fields["standardJson"]
    given["sources"][path]["content"] = given["sources"][path]["content"].replace(old, new)

    verified = check(submitted(found, given), on_chain(found))

    assert verified.comparison.runtime == verified.comparison.creation == Match.EXACT
    assert not verified.note


def test_libraries_that_were_linked_afterwards_are_found_in_the_code() -> None:
    found = sample("linked")

    verified = check(submitted(found, found.fields["standardJson"]), on_chain(found))

    assert verified.note == "without the addresses of libraries"
    assert "libraries" not in verified.input["settings"]
    assert verified.comparison.libraries == {
        "src/Maths.sol:Maths": bytes.fromhex(found.addresses["maths"])
    }


def test_a_library_has_its_own_address_in_its_code() -> None:
    found = sample("linked")
    address = bytes.fromhex(found.addresses["maths"])
    init_code = found.init_code("maths")
    compiled = init_code[init_code.index(bytes.fromhex("73") + bytes(20)) :]
    deployed = compiled[:1] + address + compiled[21:]

    submission = submitted(found, found.fields["standardJson"], path="src/Maths.sol", name="Maths")
    verified = check(submission, OnChain(deployed, init_code))

    assert verified.comparison.runtime is Match.EXACT


def test_immutables_are_read_from_runtime_code() -> None:
    found = sample("vault")

    verified = check(submitted(found, found.fields["standardJson"]), on_chain(found))

    assert verified.comparison.immutables == {
        key: int(key).to_bytes(32, "big") for key in ("3", "40", "42")
    }


def test_immutable_has_the_same_value_everywhere() -> None:
    found = sample("vault")
    chain = on_chain(found)
    (place, *_) = found.fields["runtime"]["immutableReferences"]["42"]
    spoilt = bytearray(chain.runtime)
    spoilt[place["start"]] ^= 1

    with pytest.raises(NoMatch):
        check(
            submitted(found, found.fields["standardJson"]),
            chain._replace(runtime=bytes(spoilt), creation=None),
        )


@pytest.mark.parametrize("given", [b"", bytes(192)])
def test_arguments_that_are_claimed_are_the_chains(given: bytes) -> None:
    found = sample("vault")

    with pytest.raises(OtherArguments):
        check(submitted(found, found.fields["standardJson"], arguments=given), on_chain(found))


def test_data_after_creation_code_must_be_constructor_arguments() -> None:
    found = sample("counter")
    chain = on_chain(found)
    assert chain.creation is not None

    verified = check(
        submitted(found, found.fields["standardJson"]),
        chain._replace(creation=chain.creation + b"\0"),
    )

    assert verified.comparison.runtime is Match.EXACT
    assert verified.comparison.creation is None


def test_another_contract_does_not_match() -> None:
    counter, other = sample("counter"), sample("vault")

    with raises(VerificationReason.OTHER_LENGTH, kind=NoMatch):
        check(submitted(counter, counter.fields["standardJson"]), on_chain(other))


def test_other_code_of_the_same_length_does_not_match() -> None:
    found = sample("counter")
    chain = on_chain(found)
    spoilt = bytearray(chain.runtime)
    spoilt[100] ^= 1

    with pytest.raises(NoMatch) as refusal:
        check(submitted(found, found.fields["standardJson"]), OnChain(bytes(spoilt), None))
    assert refusal.value.code == "extra_file_input_bug"  # the metadata are identical


def test_single_file_without_evm_version_tries_older_ones() -> None:
    found = sample("counter")
    (source,) = found.fields["standardJson"]["sources"].values()
    form = {
        "sourceCode": source["content"],
        "codeformat": SINGLE_FILE,
        "contractname": "Counter",
        "compilerversion": found.fields["compilerVersion"],
        "optimizationUsed": "0",
    }

    verified = check(from_form(ANY, form, maximum=100_000), on_chain(found))

    assert verified.note == "for the rules of paris"
    assert verified.comparison.runtime is Match.PARTIAL  # the file has another name


# Contracts of these tests: the deployed code, and the submitted source.

FACTORY = """// SPDX-License-Identifier: CC0-1.0
pragma solidity ^0.8.0;
// %s
contract Child { uint256 public value = 7; }
contract Factory { function make() external returns (address) { return address(new Child()); } }
"""


def own(text: str, **settings: Any) -> dict[str, Any]:
    return {
        "language": "Solidity",
        "sources": {"a.sol": {"content": text}},
        "settings": {"evmVersion": "paris", **settings},
    }


def of_own(given: Mapping[str, Any], name: str, path: str = "a.sol") -> Submission:
    return Submission(ANY, given, CompilerVersion.parse(VERSION), path, name)


def deployed(given: Mapping[str, Any], name: str) -> OnChain:
    """Return the code of a contract without constructor arguments and immutables."""
    exact = OnChain(b"", None)
    from explorer_app.verification.output import read_output
    from explorer_app.verification.standard_json import prepared

    version = CompilerVersion.parse(VERSION)
    output = compiler(version)(prepared(given, version, "a.sol", name))
    compiled = read_output(output, "a.sol", name)
    return exact._replace(runtime=compiled.runtime.code, creation=compiled.creation.code)


def test_contracts_within_a_contract_may_have_other_metadata_too() -> None:
    chain = deployed(own(FACTORY % "as deployed"), "Factory")

    verified = check(of_own(own(FACTORY % "as submitted"), "Factory"), chain)

    assert verified.comparison.runtime is verified.comparison.creation is Match.PARTIAL


def test_data_that_look_like_metadata_are_compared() -> None:
    contract = (
        "contract Data { bytes public constant data = hex'a264697066735822%s64736f6c6343000825'; }"
    )
    chain = deployed(own(contract % ("1220" + "11" * 32)), "Data")

    with pytest.raises(NoMatch):
        check(of_own(own(contract % ("1220" + "22" * 32)), "Data"), chain)


def test_sources_match_with_other_line_endings() -> None:
    text = "contract Lines {\n function f() external {}\n}\n"
    chain = deployed(own(text.replace("\n", "\r\n")), "Lines")

    verified = check(of_own(own(text), "Lines"), chain)

    assert verified.comparison.is_exact
    assert verified.note == "with CRLF at the ends of lines"


@pytest.mark.parametrize(
    "metadata", [{"bytecodeHash": "none"}, {"appendCBOR": False, "bytecodeHash": "none"}]
)
def test_without_a_hash_nothing_ties_the_text_to_the_code(metadata: dict[str, Any]) -> None:
    given = own("contract Plain { function f() external {} }", metadata=metadata)

    verified = check(of_own(given, "Plain"), deployed(given, "Plain"))

    assert verified.comparison.runtime is Match.PARTIAL


def test_code_without_metadata_matches_sources_compiled_with_metadata() -> None:
    text = "contract Bare { function f() external pure returns (uint256) { return 3; } }"
    bare = own(text, metadata={"appendCBOR": False, "bytecodeHash": "none"})

    verified = check(of_own(own(text), "Bare"), deployed(bare, "Bare"))

    assert verified.comparison.runtime is Match.PARTIAL


def test_interface_without_code_is_refused() -> None:
    with raises(VerificationReason.NOTHING_COMPILED, kind=VerificationFailed):
        check(of_own(own("interface Nothing {}"), "Nothing"), OnChain(b"\1", None))


def test_sources_that_do_not_compile_say_why() -> None:
    with pytest.raises(CompilerErrors, match="Expected ';'"):
        check(of_own(own("contract Wrong { uint a }"), "Wrong"), OnChain(b"\1", None))


def test_a_contract_that_is_not_in_the_sources_is_named() -> None:
    with raises(VerificationReason.NO_SUCH_CONTRACT, kind=VerificationFailed, match="Other"):
        check(of_own(own("contract One {}"), "Other"), OnChain(b"\1", None))


def test_contract_name_without_path_must_be_unique() -> None:
    given = {
        "language": "Solidity",
        "sources": {name: {"content": "contract Same {}"} for name in ("a.sol", "b.sol")},
        "settings": {},
    }

    with raises(VerificationReason.AMBIGUOUS_CONTRACT, kind=VerificationFailed):
        check(of_own(given, "Same", path=""), OnChain(b"\1", None))
