"""Execution of compilers: installed versions and resource limits. A test program replaces Node.js."""

import json
import os
import time
from pathlib import Path

import pytest

from explorer_app.services.compiling import CompilationLimits, NpmCompilers
from explorer_app.verification.compilers import CompilerOutput, CompilerVersion
from explorer_app.verification.errors import (
    BadSubmission,
    CompilerStopped,
    SubmissionReason,
    VerificationFailed,
    VerificationReason,
)
from tests.builders.reasons import raises

VERSION = CompilerVersion(0, 8, 37, "f401782d")
ANSWER = {"version": "0.8.37+commit.f401782d.Emscripten.clang", "output": {"contracts": {}}}


class Installed:
    """A directory with packages and a fake `node` program controlled by the test."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        for folder, name, version in (
            ("solc", "solc", "0.8.37"),
            ("solc-0.4.26", "solc", "0.4.26"),
            ("solc-typed", "solc-typed", "1.0.0"),
            ("solc-broken", "solc", "what"),
        ):
            package = directory / "node_modules" / folder
            package.mkdir(parents=True)
            (package / "package.json").write_text(json.dumps({"name": name, "version": version}))

    def node(self, script: str) -> None:
        program = self.directory / "node"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)

    def compilers(self, seconds: float = 60.0, memory: int = 2**40) -> NpmCompilers:
        path = f"{self.directory}{os.pathsep}{os.environ['PATH']}"
        return NpmCompilers(self.directory, CompilationLimits(seconds, memory), path=path)

    def compile(
        self, compilers: NpmCompilers, version: CompilerVersion = VERSION
    ) -> CompilerOutput:
        return compilers.compile(version, b"{}", until=time.monotonic() + 60)


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    return Installed(tmp_path)


def test_the_packages_of_the_compiler_are_offered(installed: Installed) -> None:
    installed.node("exit 1")

    assert [version.short for version in installed.compilers().versions()] == ["0.8.37", "0.4.26"]


def test_without_node_or_a_directory_nothing_is_offered(tmp_path: Path) -> None:
    for compilers in (
        NpmCompilers(tmp_path, CompilationLimits(1, 1), path=str(tmp_path)),
        NpmCompilers(None, CompilationLimits(1, 1)),
    ):
        assert compilers.versions() == []
        with raises(
            SubmissionReason.UNKNOWN_COMPILER,
            kind=BadSubmission,
            match=r"npm install solc-0\.8\.37@npm:solc@0\.8\.37",
        ):
            compilers.require(VERSION)


def test_a_compiler_returns_its_output_and_its_version(installed: Installed) -> None:
    installed.node(
        f"cat > asked; echo '{json.dumps(ANSWER)}'".replace(
            "asked", str(installed.directory / "asked")
        )
    )

    found = installed.compile(installed.compilers())

    assert found == (VERSION, {"contracts": {}})
    assert (installed.directory / "asked").read_text() == "{}"


def test_a_slow_compiler_gets_a_long_input_completely(installed: Installed) -> None:
    asked = installed.directory / "asked"
    installed.node(f"sleep 0.3; cat > {asked}; echo '{json.dumps(ANSWER)}'")
    text = b"x" * 1_000_000

    installed.compilers().compile(VERSION, text, until=time.monotonic() + 60)

    assert asked.read_bytes() == text


def test_another_build_of_a_version_is_refused(installed: Installed) -> None:
    installed.node(f"cat > /dev/null; echo '{json.dumps(ANSWER)}'")

    with raises(VerificationReason.WRONG_COMMIT, kind=VerificationFailed):
        installed.compile(installed.compilers(), VERSION._replace(commit="aaaaaaaa"))


def test_a_compiler_has_none_of_the_nodes_variables(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NODE_MNEMONIC", "secret")
    monkeypatch.setenv("NODE_OPTIONS", "--require=other")
    seen = installed.directory / "seen"
    installed.node(f"cat > /dev/null; env > {seen}; echo '{json.dumps(ANSWER)}'")

    installed.compile(installed.compilers())

    assert {line.partition("=")[0] for line in seen.read_text().splitlines()} <= {
        "PATH", "PWD", "_", "SHLVL", "OLDPWD",
    }  # fmt: skip


def test_a_compiler_that_takes_too_long_is_ended(installed: Installed) -> None:
    pid = installed.directory / "pid"
    installed.node(f"echo $$ > {pid}; exec sleep 600")

    with pytest.raises(CompilerStopped, match="too long"):
        installed.compile(installed.compilers(seconds=3.0))
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid.read_text()), 0)


def test_a_compiler_that_takes_too_much_is_ended(installed: Installed) -> None:
    installed.node("exec sleep 600")

    with pytest.raises(CompilerStopped, match="memory"):
        installed.compile(installed.compilers(memory=1))


def test_the_last_output_of_a_crashed_compiler_is_shown(installed: Installed) -> None:
    installed.node("cat > /dev/null; echo 'RangeError: too deep' >&2; exit 1")

    with pytest.raises(CompilerStopped, match="RangeError: too deep"):
        installed.compile(installed.compilers())


@pytest.mark.parametrize(
    "answer", ["", "[]", "{}", '{"version": "1"}', "[" * 100_000, "[" + "[]," * 100_000 + "0]"]
)
def test_unreadable_compiler_output_is_a_failure(installed: Installed, answer: str) -> None:
    (installed.directory / "answer").write_text(answer)
    installed.node(f"cat > /dev/null; cat {installed.directory / 'answer'}")

    with raises(VerificationReason.NO_COMPILER_OUTPUT, kind=VerificationFailed):
        installed.compile(installed.compilers())
