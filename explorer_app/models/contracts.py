"""Contracts with known sources, ABIs supplied without sources, and pending or finished verifications.

Rows belong to an address AND the code at it: another contract deployed there later inherits nothing, and if a chain is
reverted and deploys the same code again, the rows apply again. JSON is stored as text, because untrusted text may
contain characters that PostgreSQL's JSON type rejects.
"""

from django.db import models
from typing_extensions import override

from chaindb.fields import AddressField, BytesField, HashField
from primitives.hexadecimal import checksum_address


class VerifiedContract(models.Model):
    """A contract whose sources were compiled to the code at its address."""

    address = AddressField()
    code_hash = HashField(help_text="Keccak-256 of the code at the address")
    runtime_match = models.CharField(  # noqa: DJ001  # null means no match; an empty text would be ambiguous
        max_length=12, null=True, help_text="exact_match or match; null: the runtime code differs"
    )
    creation_match = models.CharField(  # noqa: DJ001  # as above
        max_length=12,
        null=True,
        help_text="exact_match or match; null: the creation code differs or was not compared",
    )
    name = models.TextField()
    name_key = BytesField(null=True, help_text="Normalized start of the name, for prefix search")
    path = models.TextField(help_text="Path of its source file")
    language = models.CharField(max_length=10)
    compiler = models.CharField(max_length=80, help_text="Compiler version with its commit")
    input = models.TextField(help_text="The compiler's standard JSON input that matches")
    is_single_file = models.BooleanField(help_text="Whether it was submitted as a single file")
    note = models.TextField(
        help_text="How the input differs from the submission; empty: it does not"
    )
    abi = models.TextField(help_text="JSON")
    metadata = models.TextField(help_text="JSON, as the compiler produced it")
    artifacts = models.TextField(
        help_text="JSON: documentation, storage layout, selectors by signature"
    )
    arguments = BytesField(null=True, help_text="ABI-encoded constructor arguments; null: unknown")
    libraries = models.TextField(help_text="JSON: linked library addresses, by path:Name")
    immutables = models.TextField(
        help_text="JSON: values of immutable variables, by AST ID of the declaration"
    )
    license = models.CharField(max_length=2, help_text="Etherscan's license type; empty: not given")
    verified_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["address", "code_hash"], name="explorer_verified_once"),
        ]
        indexes = [
            models.Index(fields=["code_hash"], name="explorer_verified_code"),
            models.Index(
                fields=["name_key", "id"],
                name="explorer_verified_by_name",
                condition=models.Q(name_key__isnull=False),
            ),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.name} at {checksum_address(self.address)}"


class SuppliedAbi(models.Model):
    """An ABI that a user supplied for a contract; nothing proves that it is the contract's ABI."""

    address = AddressField()
    code_hash = HashField(help_text="Keccak-256 of the code at the address")
    name = models.TextField(help_text="Name that the user gave to the contract; may be empty")
    abi = models.TextField(help_text="JSON")
    supplied_at = models.DateTimeField()

    class Meta:
        ordering = ["-id"]
        verbose_name = "supplied ABI"
        constraints = [
            models.UniqueConstraint(fields=["address", "code_hash"], name="explorer_supplied_once"),
        ]

    @override
    def __str__(self) -> str:
        return f"ABI for {checksum_address(self.address)}"


class VerificationState(models.IntegerChoices):
    """The state of a verification."""

    WAITING = 0, "waiting"
    RUNNING = 1, "running"
    PASSED = 2, "passed"
    FAILED = 3, "failed"


class Verification(models.Model):
    """A submission; finished ones are kept for a day, without their input."""

    id = models.CharField(
        max_length=32, primary_key=True, help_text="GUID that clients use to query the state"
    )
    digest = HashField(help_text="SHA-256 of the whole submission")
    address = AddressField()
    code_hash = HashField(help_text="Keccak-256 of the code at the address")
    client = models.CharField(max_length=64, help_text="IP address of the client")
    input = models.TextField(help_text="The compiler's standard JSON input")
    compiler = models.CharField(max_length=80)
    path = models.TextField()
    name = models.TextField()
    arguments = BytesField(null=True)
    is_single_file = models.BooleanField()
    knows_evm_version = models.BooleanField()
    license = models.CharField(max_length=2)
    state = models.SmallIntegerField(choices=VerificationState.choices)
    worker = models.CharField(
        max_length=32, help_text="Process that last started it; empty: none has"
    )
    tries = models.SmallIntegerField(help_text="Number of times that a process started it")
    submitted_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    reason = models.CharField(
        max_length=60, help_text="Sourcify's code of the error; empty: it did not fail"
    )
    message = models.TextField(help_text="Error message; empty: it did not fail")
    details = models.TextField(
        help_text="JSON with further fields of Sourcify's error; {} if there are none"
    )
    contract = models.ForeignKey(VerifiedContract, models.SET_NULL, null=True, db_index=False)

    class Meta:
        ordering = ["-submitted_at"]
        indexes = [
            models.Index(
                fields=["submitted_at"],
                name="explorer_verifications_open",
                condition=models.Q(state__lt=2),
            ),
            models.Index(fields=["finished_at"], name="explorer_verifications_over"),
        ]

    @override
    def __str__(self) -> str:
        return f"{self.name} at {checksum_address(self.address)}: {VerificationState(self.state).label}"
