"""Why a submission is refused, and why a verification fails: one class for each reason.

Refusal
├── BadSubmission              refused at once, nothing is compiled
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
    """Anything that does not get verified; the message says why, for people."""

    code: ClassVar[str] = "internal_error"
    """Sourcify's name for the reason."""

    @property
    def data(self) -> Mapping[str, Any]:
        """What is added to Sourcify's error object."""
        return {}


class BadSubmission(Refusal):
    """A submission that is not worth compiling."""

    code = "invalid_parameter"


class NoJson(BadSubmission):
    """A text that should be JSON and is not."""

    code = "invalid_json"

    def __init__(self) -> None:
        super().__init__("The source is not valid JSON")


class NotAnObject(BadSubmission):
    """JSON of another shape than a compiler's standard input has."""

    def __init__(self, what: str) -> None:
        super().__init__(f"The standard JSON input is malformed: {what}")


class NoSources(BadSubmission):
    """An input without a source."""

    code = "missing_source"

    def __init__(self) -> None:
        super().__init__("Source code missing")


class SourceElsewhere(BadSubmission):
    """A source that is named by its addresses and not there."""

    code = "missing_source"

    def __init__(self, path: str) -> None:
        super().__init__(f"The source {path[:200]!r} has no content; addresses are not fetched")


class UnsupportedLanguage(BadSubmission):
    """A language that no compiler here reads."""

    code = "unsupported_language"

    def __init__(self, language: str) -> None:
        super().__init__(
            f"The language {language[:40]!r} is not supported: this node compiles Solidity and Yul"
        )


class UnknownCodeFormat(BadSubmission):
    """A form of sources that nobody here reads."""

    def __init__(self) -> None:
        super().__init__("Missing or unsupported codeformat")


class NoContractName(BadSubmission):
    """Nobody says which contract of the sources it is."""

    code = "invalid_compilation_target"

    def __init__(self) -> None:
        super().__init__("Contract name missing")


class MalformedVersion(BadSubmission):
    """A text that is no version of a compiler."""

    code = "invalid_compiler_version"

    def __init__(self, text: str) -> None:
        super().__init__(
            f"Invalid or not supported solc version {text[:60]!r}, see /solcversions for list"
        )


class UnknownCompiler(BadSubmission):
    """A version that is not installed."""

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
    """Constructor arguments that are no hex."""

    def __init__(self) -> None:
        super().__init__("The constructor arguments are not hexadecimal")


class TooLarge(BadSubmission):
    """More than one submission may have."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The submission is longer than {most} bytes")


class TooManyStrings(BadSubmission):
    """JSON with more strings than any submission needs."""

    def __init__(self, most: int) -> None:
        super().__init__(f"The submission has more than {most} names and texts: too many sources")


class TooManyWaiting(BadSubmission):
    """There is no room for another verification."""

    code = "too_many_requests"

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} verifications are waiting already: try again later")


class TooManyOfClient(BadSubmission):
    """One client has as many verifications waiting as it may."""

    code = "too_many_requests"

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} of your verifications are waiting already: try again later")


class SubmittedAlready(BadSubmission):
    """The very same is waiting."""

    code = "duplicate_verification_request"

    def __init__(self, key: str) -> None:
        super().__init__("The same verification is being worked on")
        self.key = key


class NoAbi(BadSubmission):
    """A text that is no ABI."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The ABI cannot be read: {why}")


class HasSources(BadSubmission):
    """The contract's own ABI is known."""

    def __init__(self) -> None:
        super().__init__("The contract is verified: its ABI is known")


class HasAbi(BadSubmission):
    """Somebody gave an ABI for the contract before."""

    def __init__(self) -> None:
        super().__init__("There is an ABI for the contract: verify it to have another")


class TooManyAbis(BadSubmission):
    """There is no room for another ABI."""

    def __init__(self, most: int) -> None:
        super().__init__(f"{most} ABIs were given already: verify the contract")


class VerificationFailed(Refusal):
    """A verification that was tried."""


class NotDeployed(VerificationFailed):
    """There is no code at the address (any more)."""

    code = "contract_not_deployed"

    def __init__(self) -> None:
        super().__init__("There is no contract at the address")


class AlreadyVerified(VerificationFailed):
    """What is there is as good."""

    code = "already_verified"

    def __init__(self) -> None:
        super().__init__("The contract is verified already, and this is no better match")


class GivenUp(VerificationFailed):
    """The processes that tried it have ended in its midst, or failed."""

    def __init__(self) -> None:
        super().__init__("The node could not finish the verification")


class StateUnknown(VerificationFailed):
    """The chain is a fork, and its remote node did not tell what is at the address."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The remote node of the fork does not tell the contract's state: {why}")


class WrongCommit(VerificationFailed):
    """The version that is installed is another build."""

    code = "invalid_compiler_version"

    def __init__(self, wanted: str, installed: str) -> None:
        super().__init__(f"The compiler {wanted} is asked for, and {installed} is installed")


class CompilerErrors(VerificationFailed):
    """The compiler refuses the sources."""

    code = "compiler_error"

    def __init__(self, errors: Sequence[str]) -> None:
        super().__init__("The compiler says: " + "; ".join(errors))
        self.errors = tuple(errors)

    @property
    @override
    def data(self) -> Mapping[str, Any]:
        """What the compiler said."""
        return {"errorData": {"compilerErrors": [{"message": one} for one in self.errors]}}


class CompilerStopped(VerificationFailed):
    """The compiler took too long or too much, or fell over."""

    code = "compiler_error"


class NoCompilerOutput(VerificationFailed):
    """What the compiler printed is no standard JSON output."""

    code = "no_compiler_output"

    def __init__(self) -> None:
        super().__init__("The compiler's output cannot be read")


class NoSuchContract(VerificationFailed):
    """The sources have no contract of that name."""

    code = "contract_not_found_in_compiler_output"

    def __init__(self, name: str) -> None:
        super().__init__(f"There is no contract {name[:200]!r} in the sources")


class AmbiguousContract(VerificationFailed):
    """Several files have a contract of that name."""

    code = "invalid_compilation_target"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"Several files have a contract {name[:200]!r}: name it with its path, PATH:NAME"
        )


class NothingCompiled(VerificationFailed):
    """An interface, or an abstract contract: there is no code."""

    code = "compiled_bytecode_is_zero"

    def __init__(self) -> None:
        super().__init__("The contract is abstract or an interface: it has no code to compare")


class NoMatch(VerificationFailed):
    """The code is another one."""

    code = "no_match"

    def __init__(self, text: str = "The compiled code is not the code at the address") -> None:
        super().__init__(text)


class OtherLength(NoMatch):
    """The code is another one, even in length."""

    code = "bytecode_length_mismatch"

    def __init__(self, ours: int, theirs: int) -> None:
        super().__init__(
            f"The compiled code has {ours} bytes, and the code at the address {theirs}: other sources or settings"
        )


class OtherArguments(NoMatch):
    """The code is the same, and the constructor's arguments are others."""

    code = "constructor_arguments_mismatch"

    def __init__(self) -> None:
        super().__init__(
            "The constructor arguments are not those with which the contract was created"
        )


class FilesMissing(NoMatch):
    """The metadata are the very same and the code is not: solidity issues 14250 and 14494."""

    code = "extra_file_input_bug"

    def __init__(self) -> None:
        super().__init__(
            "The sources are the right ones, but the contract was compiled together with more files, which "
            "changed its code: submit all of the build's files"
        )
