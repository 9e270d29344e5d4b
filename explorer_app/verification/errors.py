"""Reasons why a submission is rejected or a verification fails: one class per reason.

Refusal
├── BadSubmission              rejected immediately, nothing is compiled
│   ├── NoJson, NotAnObject, NoSources, SourceElsewhere
│   ├── UnsupportedLanguage, UnknownCodeFormat
│   ├── NoContractName, MalformedVersion, UnknownCompiler, CompilersAway
│   └── MalformedArguments, TooLarge, TooManyStrings
└── VerificationFailed         the job has ended without a match
    ├── NotDeployed, AlreadyVerified, GivenUp, StateUnknown
    ├── WrongCommit, CompilerErrors, CompilerStopped, NoCompilerOutput
    ├── NoSuchContract, AmbiguousContract, NothingCompiled
    └── NoMatch
        ├── OtherLength, OtherArguments, FilesMissing
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from typing_extensions import override


class Refusal(Exception):
    """Base class of all reasons; the message explains the reason to users."""

    code: ClassVar[str] = "internal_error"
    """Sourcify's name for the reason."""

    @property
    def data(self) -> Mapping[str, Any]:
        """Additional members of Sourcify's error object."""
        return {}


class BadSubmission(Refusal):
    """The submission is not worth compiling."""

    code = "invalid_parameter"


class NoJson(BadSubmission):
    """The text is not JSON."""

    code = "invalid_json"

    def __init__(self) -> None:
        super().__init__("The source is not valid JSON")


class NotAnObject(BadSubmission):
    """The JSON does not have the form of a compiler's standard input."""

    def __init__(self, what: str) -> None:
        super().__init__(f"The standard JSON input is malformed: {what}")


class NoSources(BadSubmission):
    """The input has no source."""

    code = "missing_source"

    def __init__(self) -> None:
        super().__init__("Source code missing")


class SourceElsewhere(BadSubmission):
    """A source has URLs instead of content."""

    code = "missing_source"

    def __init__(self, path: str) -> None:
        super().__init__(f"The source {path[:200]!r} has no content; addresses are not fetched")


class UnsupportedLanguage(BadSubmission):
    """No compiler of this node supports the language."""

    code = "unsupported_language"

    def __init__(self, language: str) -> None:
        super().__init__(
            f"The language {language[:40]!r} is not supported: this node compiles Solidity and Yul"
        )


class UnknownCodeFormat(BadSubmission):
    """The format of the sources is missing or not supported."""

    def __init__(self) -> None:
        super().__init__("Missing or unsupported codeformat")


class NoContractName(BadSubmission):
    """The submission does not name the contract among the sources."""

    code = "invalid_compilation_target"

    def __init__(self) -> None:
        super().__init__("Contract name missing")


class MalformedVersion(BadSubmission):
    """The text is not a compiler's version."""

    code = "invalid_compiler_version"

    def __init__(self, text: str) -> None:
        super().__init__(
            f"Invalid or not supported solc version {text[:60]!r}, see /solcversions for list"
        )


class UnknownCompiler(BadSubmission):
    """The version is not installed."""

    code = "invalid_compiler_version"

    def __init__(self, version: str) -> None:
        super().__init__(
            f"Invalid or not supported solc version {version}, see /solcversions for list: it is not installed. "
            f"An operator installs it with: npm install solc-{version}@npm:solc@{version} in NODE_SOLC_DIRECTORY"
        )


class CompilersAway(BadSubmission):
    """The process that runs the compilers does not answer."""

    code = "internal_error"

    def __init__(self) -> None:
        super().__init__("The compilers of this node do not answer: try again later")


class MalformedArguments(BadSubmission):
    """The constructor arguments are not hexadecimal."""

    def __init__(self) -> None:
        super().__init__("The constructor arguments are not hexadecimal")


class SubmissionTooLarge(BadSubmission):
    """The submission is larger than allowed."""

    def __init__(self, maximum: int) -> None:
        super().__init__(f"The submission is longer than {maximum} bytes")


class TooManyStrings(BadSubmission):
    """The JSON has more strings than any submission needs."""

    def __init__(self, maximum: int) -> None:
        super().__init__(
            f"The submission has more than {maximum} names and texts: too many sources"
        )


class TooManyWaiting(BadSubmission):
    """The limit of pending verifications is reached."""

    code = "too_many_requests"

    def __init__(self, maximum: int) -> None:
        super().__init__(f"{maximum} verifications are waiting already: try again later")


class TooManyOfClient(BadSubmission):
    """The client has reached its limit of pending verifications."""

    code = "too_many_requests"

    def __init__(self, maximum: int) -> None:
        super().__init__(f"{maximum} of your verifications are waiting already: try again later")


class SubmittedAlready(BadSubmission):
    """An identical submission is pending."""

    code = "duplicate_verification_request"

    def __init__(self, key: str) -> None:
        super().__init__("The same verification is being worked on")
        self.key = key


class NoAbi(BadSubmission):
    """The text is not an ABI."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The ABI cannot be read: {why}")


class HasSources(BadSubmission):
    """The contract is verified, so its own ABI is known."""

    def __init__(self) -> None:
        super().__init__("The contract is verified: its ABI is known")


class HasAbi(BadSubmission):
    """The contract already has a supplied ABI."""

    def __init__(self) -> None:
        super().__init__("There is an ABI for the contract: verify it to have another")


class TooManyAbis(BadSubmission):
    """The limit of supplied ABIs is reached."""

    def __init__(self, maximum: int) -> None:
        super().__init__(f"{maximum} ABIs were given already: verify the contract")


class VerificationFailed(Refusal):
    """A verification was tried and failed."""


class NotDeployed(VerificationFailed):
    """There is no code at the address, or it no longer exists."""

    code = "contract_not_deployed"

    def __init__(self) -> None:
        super().__init__("There is no contract at the address")


class AlreadyVerified(VerificationFailed):
    """The stored match is at least as good."""

    code = "already_verified"

    def __init__(self) -> None:
        super().__init__("The contract is verified already, and this is no better match")


class GivenUp(VerificationFailed):
    """The processes that tried the verification ended before it was finished, or failed."""

    def __init__(self) -> None:
        super().__init__("The node could not finish the verification")


class StateUnknown(VerificationFailed):
    """The chain is a fork, and its remote node did not return the code at the address."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The remote node of the fork does not tell the contract's state: {why}")


class WrongCommit(VerificationFailed):
    """The installed compiler is another build of the version."""

    code = "invalid_compiler_version"

    def __init__(self, requested: str, installed: str) -> None:
        super().__init__(f"The compiler {requested} is asked for, and {installed} is installed")


class CompilerErrors(VerificationFailed):
    """The compiler reports errors in the sources."""

    code = "compiler_error"

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("The compiler says: " + "; ".join(errors))
        self.errors = tuple(errors)

    @property
    @override
    def data(self) -> Mapping[str, Any]:
        """The compiler's messages."""
        return {"errorData": {"compilerErrors": [{"message": error} for error in self.errors]}}


class CompilerStopped(VerificationFailed):
    """The compiler exceeded a limit or crashed."""

    code = "compiler_error"


class NoCompilerOutput(VerificationFailed):
    """The compiler's output is not standard JSON output."""

    code = "no_compiler_output"

    def __init__(self) -> None:
        super().__init__("The compiler's output cannot be read")


class NoSuchContract(VerificationFailed):
    """The sources have no contract with this name."""

    code = "contract_not_found_in_compiler_output"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no contract {name[:200]!r} in the sources")


class AmbiguousContract(VerificationFailed):
    """Several files have a contract with this name."""

    code = "invalid_compilation_target"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Several files have a contract {name[:200]!r}: name it with its path, PATH:NAME"
        )


class NothingCompiled(VerificationFailed):
    """The contract is an interface or abstract, so it has no code."""

    code = "compiled_bytecode_is_zero"

    def __init__(self) -> None:
        super().__init__("The contract is abstract or an interface: it has no code to compare")


class NoMatch(VerificationFailed):
    """The code differs."""

    code = "no_match"

    def __init__(self, text: str = "The compiled code is not the code at the address") -> None:
        super().__init__(text)


class OtherLength(NoMatch):
    """The code differs, and so does its length."""

    code = "bytecode_length_mismatch"

    def __init__(self, ours: int, theirs: int) -> None:
        super().__init__(
            f"The compiled code has {ours} bytes, and the code at the address {theirs}: other sources or settings"
        )


class OtherArguments(NoMatch):
    """The code is the same, but the constructor arguments differ."""

    code = "constructor_arguments_mismatch"

    def __init__(self) -> None:
        super().__init__(
            "The constructor arguments are not those with which the contract was created"
        )


class FilesMissing(NoMatch):
    """The metadata are identical but the code differs: solidity issues 14250 and 14494."""

    code = "extra_file_input_bug"

    def __init__(self) -> None:
        super().__init__(
            "The sources are the right ones, but the contract was compiled together with more files, which "
            "changed its code: submit all of the build's files"
        )
