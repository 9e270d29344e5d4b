"""Submissions in the formats of forge, hardhat and the web form, and the reasons to reject some."""

import json
from typing import Any

import pytest

from explorer_app.verification.compilers import CompilerVersion
from explorer_app.verification.errors import (
    BadSubmission,
    MalformedVersion,
    SubmissionReason,
    SubmissionTooLarge,
)
from explorer_app.verification.submission import (
    MAX_SOURCES,
    SINGLE_FILE,
    STANDARD_JSON,
    from_form,
    from_metadata,
    from_sourcify,
    read_input,
)
from primitives.evm import Address
from tests.builders.reasons import raises

ANY = Address(bytes(20))
INPUT = {"language": "Solidity", "sources": {"a.sol": {"content": "contract A {}"}}, "settings": {}}
FORM = {
    "sourceCode": json.dumps(INPUT),
    "codeformat": STANDARD_JSON,
    "contractname": "a.sol:A",
    "compilerversion": "v0.8.37+commit.f401782d",
}


def read(**changes: str) -> Any:
    return from_form(ANY, {**FORM, **changes}, maximum=10_000)


def test_a_form_has_input_name_and_compiler() -> None:
    found = read()

    assert (found.path, found.name, found.full_name) == ("a.sol", "A", "a.sol:A")
    assert found.version == (0, 8, 37, "f401782d")
    assert found.input == INPUT
    assert found.arguments is None


@pytest.mark.parametrize("name", ["constructorArguements", "constructorArguments"])
@pytest.mark.parametrize("prefix", ["", "0x"])
def test_constructor_arguments_have_two_field_names(name: str, prefix: str) -> None:
    assert read(**{name: prefix + "00ff"}).arguments == b"\0\xff"


def test_answers_double_braces_are_read_back() -> None:
    assert read(sourceCode="{" + json.dumps(INPUT) + "}").input == INPUT


def test_a_single_file_has_its_settings_in_the_form() -> None:
    found = read(
        sourceCode="contract A {}",
        codeformat=SINGLE_FILE,
        contractname="A",
        optimizationUsed="1",
        runs="999",
        evmversion="london",
        libraryname1="L",
        libraryaddress1="0x" + "11" * 20,
        viaIR="true",
    )

    assert found.input["sources"] == {"A.sol": {"content": "contract A {}"}}
    assert found.input["settings"] == {
        "optimizer": {"enabled": True, "runs": 999},
        "evmVersion": "london",
        "viaIR": True,
        "libraries": {"A.sol": {"L": "0x" + "11" * 20}},
    }
    assert found.knows_evm_version


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"sourceCode": ""}, SubmissionReason.NO_SOURCES),
        ({"sourceCode": "{"}, SubmissionReason.NO_JSON),
        ({"sourceCode": "[" * 5_000}, SubmissionReason.NOT_AN_OBJECT),
        ({"sourceCode": "[]"}, SubmissionReason.NOT_AN_OBJECT),
        ({"sourceCode": "{}"}, SubmissionReason.NO_SOURCES),
        ({"sourceCode": " " * 10_001}, SubmissionReason.SUBMISSION_TOO_LARGE),
        ({"sourceCode": '{"sources": {"a": 1}}'}, SubmissionReason.NOT_AN_OBJECT),
        (
            {"sourceCode": '{"sources": {"a": {"urls": ["http://a"]}}}'},
            SubmissionReason.SOURCE_ELSEWHERE,
        ),
        (
            {"sourceCode": '{"sources": {"a": {"content": ""}}, "settings": 1}'},
            SubmissionReason.NOT_AN_OBJECT,
        ),
        (
            {"sourceCode": '{"language": "Vyper", "sources": {}}'},
            SubmissionReason.UNSUPPORTED_LANGUAGE,
        ),
        ({"codeformat": "vyper-json"}, SubmissionReason.UNSUPPORTED_LANGUAGE),
        ({"codeformat": "other"}, SubmissionReason.UNKNOWN_CODE_FORMAT),
        ({"contractname": ""}, SubmissionReason.NO_CONTRACT_NAME),
        ({"contractname": "a.sol:"}, SubmissionReason.NO_CONTRACT_NAME),
        ({"contractname": "A" * 2000}, SubmissionReason.NO_CONTRACT_NAME),
        ({"contractname": "a.sol:A\0"}, SubmissionReason.NO_CONTRACT_NAME),
        ({"sourceCode": '{"sources": {"a": {"content": "\\ud800"}}}'}, SubmissionReason.NO_JSON),
        (
            {"sourceCode": '{"sources": {"a": {"content": ""}}, "settings": {"libraries": 1}}'},
            SubmissionReason.NOT_AN_OBJECT,
        ),
        ({"compilerversion": ""}, SubmissionReason.MALFORMED_VERSION),
        ({"compilerversion": "0.8"}, SubmissionReason.MALFORMED_VERSION),
        ({"constructorArguments": "0"}, SubmissionReason.MALFORMED_ARGUMENTS),
        ({"constructorArguments": "zz"}, SubmissionReason.MALFORMED_ARGUMENTS),
        ({"constructorArguments": "00" * 200_000}, SubmissionReason.SUBMISSION_TOO_LARGE),
    ],
)
def test_a_failed_verification_has_a_reason(
    changes: dict[str, str], reason: SubmissionReason
) -> None:
    with raises(reason, kind=BadSubmission):
        read(**changes)


def test_sourcifys_form_has_the_same_parts() -> None:
    body = {
        "stdJsonInput": INPUT,
        "compilerVersion": "0.8.37+commit.f401782d",
        "contractIdentifier": "a.sol:A",
    }

    assert from_sourcify(ANY, json.dumps(body).encode(), maximum=10_000) == read()
    with raises(SubmissionReason.NOT_AN_OBJECT, kind=BadSubmission):
        from_sourcify(ANY, b"[]", maximum=10_000)
    with pytest.raises(MalformedVersion):
        from_sourcify(ANY, json.dumps({**body, "compilerVersion": ""}).encode(), maximum=10_000)
    with raises(SubmissionReason.NOT_AN_OBJECT, kind=BadSubmission):
        from_sourcify(ANY, json.dumps({**body, "compilerVersion": None}).encode(), maximum=10_000)
    with raises(SubmissionReason.NO_SOURCES, kind=BadSubmission):
        from_sourcify(ANY, b"{}", maximum=10_000)
    with pytest.raises(SubmissionTooLarge):
        from_sourcify(ANY, bytes(10_001), maximum=10_000)
    text = {**body, "stdJsonInput": json.dumps(INPUT)}
    assert from_sourcify(ANY, json.dumps(text).encode(), maximum=10_000) == read()


@pytest.mark.parametrize("name", ["{}", "{}\\\\"])
def test_too_many_sources_are_refused(name: str) -> None:
    for maximum, reason in (
        (MAX_SOURCES + 1, SubmissionReason.NOT_AN_OBJECT),
        (90_000, SubmissionReason.TOO_MANY_STRINGS),
    ):
        sources = ",".join(f'"{name.format(number)}":{{}}' for number in range(maximum))
        given = f'{{"sources":{{{sources}}}}}'
        body = f'{{"stdJsonInput":{given},"compilerVersion":"0.8.37","contractIdentifier":"A"}}'
        flat = f'{{"metadata":{{}},{given[1:]}'.replace("{}", '""')
        with raises(reason, kind=BadSubmission):
            read_input(given)
        with raises(reason, kind=BadSubmission):
            from_sourcify(ANY, body.encode(), maximum=10_000_000)
        if reason is SubmissionReason.TOO_MANY_STRINGS:
            with raises(reason, kind=BadSubmission):
                from_metadata(ANY, flat.encode(), maximum=10_000_000)


def test_maximum_number_of_sources_is_accepted() -> None:
    content = {"content": 'string a = "{,}[,]";'}
    sources = {f"{number}.sol": content for number in range(MAX_SOURCES)}

    assert read_input(json.dumps({"sources": sources}))["sources"] == sources


def test_settings_and_metadata_have_few_values() -> None:
    many: dict[str, Any] = {"a": [0] * 40_000}
    with raises(
        SubmissionReason.NOT_AN_OBJECT, kind=BadSubmission, match="the settings have more than"
    ):
        read_input(json.dumps({**INPUT, "settings": many}))
    with raises(
        SubmissionReason.NOT_AN_OBJECT, kind=BadSubmission, match="the metadata have more than"
    ):
        from_metadata(
            ANY, json.dumps({"metadata": {"settings": many}}).encode(), maximum=10_000_000
        )


def test_metadata_name_contract_compiler_and_settings() -> None:
    metadata = {
        "compiler": {"version": "0.8.37+commit.f401782d"},
        "language": "Solidity",
        "settings": {
            "compilationTarget": {"a.sol": "A"},
            "libraries": {"l.sol:L": "0x" + "11" * 20},
            "evmVersion": "paris",
        },
        "sources": {"a.sol": {"keccak256": "0x"}},
    }
    body = {"metadata": metadata, "sources": {"a.sol": "contract A {}", "more.sol": ""}}

    found = from_metadata(ANY, json.dumps(body).encode(), maximum=10_000)

    assert found.full_name == "a.sol:A"
    assert found.input["sources"] == INPUT["sources"]
    assert found.input["settings"] == {
        "libraries": {"l.sol": {"L": "0x" + "11" * 20}},
        "evmVersion": "paris",
    }
    with raises(SubmissionReason.SOURCE_ELSEWHERE, kind=BadSubmission):
        from_metadata(ANY, json.dumps({**body, "sources": {}}).encode(), maximum=10_000)


@pytest.mark.parametrize(
    "text",
    ["0.8.37", "v0.8.37", "0.8.37+commit.f401782d", "v0.8.37+commit.f401782d.Emscripten.clang",
     "0.8.37+commit.f401782d.Linux.g++"],
)  # fmt: skip
def test_compiler_version_is_parsed_with_and_without_commit(text: str) -> None:
    found = CompilerVersion.parse(text)

    assert found.short == "0.8.37"
    assert found.commit == ("f401782d" if "commit" in text else "")
    assert found.is_built_as(CompilerVersion.parse("0.8.37+commit.f401782d"))
    assert not CompilerVersion(0, 8, 37, "aaaaaaaa").is_built_as(
        CompilerVersion.parse("0.8.37+commit.f401782d")
    )


def test_default_evm_version_of_a_compiler_is_first() -> None:
    assert CompilerVersion(0, 8, 20).evm_versions()[:3] == ["shanghai", "paris", "london"]
    assert CompilerVersion(0, 8, 37).evm_versions()[0] == "osaka"
    assert CompilerVersion(0, 4, 11).evm_versions() == []
