"""Reasons why a submission is rejected or a verification fails, each with Sourcify's name for it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Self

from typing_extensions import override

from primitives.reasons import ErrorWithReason


class _CodedReason(StrEnum):
    """A message, and Sourcify's name for the reason."""

    code: str

    def __new__(cls, message: str, code: str = "") -> Self:
        member = str.__new__(cls, message)
        member._value_ = message
        member.code = code
        return member


class SubmissionReason(_CodedReason):
    """Why a submission is rejected immediately, without compiling anything."""

    NO_JSON = "The source is not valid JSON", "invalid_json"
    # The JSON does not have the form of a compiler's standard input.
    NOT_AN_OBJECT = "The standard JSON input is malformed: {cause}", "invalid_parameter"
    NO_SOURCES = "Source code missing", "missing_source"
    SOURCE_ELSEWHERE = (
        "The source {path!r} has no content; addresses are not fetched",
        "missing_source",
    )
    UNSUPPORTED_LANGUAGE = (
        "The language {language!r} is not supported: this node compiles Solidity and Yul",
        "unsupported_language",
    )
    UNKNOWN_CODE_FORMAT = "Missing or unsupported codeformat", "invalid_parameter"
    # The submission does not name the contract among the sources.
    NO_CONTRACT_NAME = "Contract name missing", "invalid_compilation_target"
    MALFORMED_VERSION = (
        "Invalid or not supported solc version {text!r}, see /solcversions for list",
        "invalid_compiler_version",
    )
    UNKNOWN_COMPILER = (
        "Invalid or not supported solc version {version}, see /solcversions for list: it is not installed. "
        "An operator installs it with: npm install solc-{version}@npm:solc@{version} in NODE_SOLC_DIRECTORY",
        "invalid_compiler_version",
    )
    COMPILERS_AWAY = (
        "The compilers of this node do not answer: try again later",
        "internal_error",
    )
    MALFORMED_ARGUMENTS = "The constructor arguments are not hexadecimal", "invalid_parameter"
    SUBMISSION_TOO_LARGE = "The submission is longer than {maximum} bytes", "invalid_parameter"
    TOO_MANY_STRINGS = (
        "The submission has more than {maximum} names and texts: too many sources",
        "invalid_parameter",
    )
    TOO_MANY_WAITING = (
        "{maximum} verifications are pending already: try again later",
        "too_many_requests",
    )
    TOO_MANY_OF_CLIENT = (
        "{maximum} of your verifications are pending already: try again later",
        "too_many_requests",
    )
    SUBMITTED_ALREADY = (
        "An identical verification is pending",
        "duplicate_verification_request",
    )
    NO_ABI = "The ABI cannot be read: {cause}", "invalid_parameter"
    # The contract is verified, so its own ABI is known.
    HAS_SOURCES = "The contract is verified: its ABI is known", "invalid_parameter"
    HAS_ABI = (
        "The contract already has an ABI: verify the contract to replace it",
        "invalid_parameter",
    )
    TOO_MANY_ABIS = (
        "the limit of {maximum} ABIs is reached: verify the contract instead",
        "invalid_parameter",
    )


class VerificationReason(_CodedReason):
    """Why a verification has ended without a match."""

    NOT_DEPLOYED = "There is no contract at the address", "contract_not_deployed"
    ALREADY_VERIFIED = (
        "The contract is verified already, and this match is not better",
        "already_verified",
    )
    # The processes that tried the verification ended before it was finished, or failed.
    GIVEN_UP = "The node could not finish the verification", "internal_error"
    # The chain is a fork, and its remote node did not return the code at the address.
    STATE_UNKNOWN = (
        "The remote node of the fork does not return the contract's state: {cause}",
        "internal_error",
    )
    # The installed compiler is another build of the version.
    WRONG_COMMIT = (
        "The compiler {requested} was requested, but {installed} is installed",
        "invalid_compiler_version",
    )
    COMPILER_ERRORS = "The compiler reports: {messages}", "compiler_error"
    COMPILER_STOPPED = "{message}", "compiler_error"
    # The compiler's output is not standard JSON output.
    NO_COMPILER_OUTPUT = "The compiler's output cannot be read", "no_compiler_output"
    NO_SUCH_CONTRACT = (
        "There is no contract {name!r} in the sources",
        "contract_not_found_in_compiler_output",
    )
    AMBIGUOUS_CONTRACT = (
        "Several files have a contract {name!r}: name it with its path, PATH:NAME",
        "invalid_compilation_target",
    )
    NOTHING_COMPILED = (
        "The contract is abstract or an interface: it has no code to compare",
        "compiled_bytecode_is_zero",
    )
    NO_MATCH = "The compiled code is not the code at the address", "no_match"
    OTHER_LENGTH = (
        "The compiled code has {ours} bytes, and the code at the address {theirs}: other sources or settings",
        "bytecode_length_mismatch",
    )
    OTHER_ARGUMENTS = (
        "The constructor arguments are not those with which the contract was created",
        "constructor_arguments_mismatch",
    )
    # The metadata are identical but the code differs: solidity issues 14250 and 14494.
    FILES_MISSING = (
        "The sources are the right ones, but the contract was compiled together with more files, which "
        "changed its code: submit all of the build's files",
        "extra_file_input_bug",
    )


class Refusal(ErrorWithReason):
    """Base class of all errors; the message explains the reason to users."""

    reason: SubmissionReason | VerificationReason

    @property
    def code(self) -> str:
        """Sourcify's name for the reason."""
        return self.reason.code

    @property
    def data(self) -> Mapping[str, Any]:
        """Additional members of Sourcify's error object."""
        return {}


class BadSubmission(Refusal):
    """The submission is not worth compiling."""


class MalformedVersion(BadSubmission):
    """The text is not a compiler's version."""


class CompilersAway(BadSubmission):
    """The process that runs the compilers does not answer."""


class SubmissionTooLarge(BadSubmission):
    """The submission is larger than allowed."""


class TooManyWaiting(BadSubmission):
    """A limit of pending verifications is reached: that of the node, or that of the client."""


class SubmittedAlready(BadSubmission):
    """An identical submission is pending: the value `key`."""


class VerificationFailed(Refusal):
    """A verification was tried and failed."""


class NotDeployed(VerificationFailed):
    """There is no code at the address, or it no longer exists."""


class AlreadyVerified(VerificationFailed):
    """The stored match is at least as good."""


class CompilerErrors(VerificationFailed):
    """The compiler reports errors in the sources."""

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__(VerificationReason.COMPILER_ERRORS, messages="; ".join(errors))
        self.errors = tuple(errors)

    @property
    @override
    def data(self) -> Mapping[str, Any]:
        """The compiler's messages."""
        return {"errorData": {"compilerErrors": [{"message": error} for error in self.errors]}}


class CompilerStopped(VerificationFailed):
    """The compiler exceeded a limit or crashed."""


class NoMatch(VerificationFailed):
    """The code differs."""


class OtherArguments(NoMatch):
    """The code is the same, but the constructor arguments differ."""
