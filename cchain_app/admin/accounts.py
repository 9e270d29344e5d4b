"""Accounts at the head, the changes that blocks made to them, and columns for rows with an account's values."""

from typing import Any

from django.contrib import admin
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Length
from django.http import HttpRequest
from django.utils.safestring import SafeString
from typing_extensions import override

from adminkit.read_only import cached_on_row
from adminkit.terms import SearchTerm, parse_term
from cchain_app.admin import display, pages
from cchain_app.admin.calls import creation_of
from cchain_app.admin.pages import RowsAdmin, objects, rows_of_block, rows_of_block_hash
from cchain_app.models import Account, AccountChange, Code, Contract, Receipt, StorageSlot
from cchain_app.txs.transaction import DELEGATION_PREFIX
from chaindb.fields import HexBytes
from primitives.counting import counted
from primitives.hashing import EMPTY_HASH


class AccountValuesAdmin(RowsAdmin):
    """An admin page for rows with an address and the nonce, balance and code hash of that account."""

    @admin.display(description="Address")
    def short_address(self, row: Any) -> SafeString:
        """Return the account for the list."""
        return display.short_account(row.address)

    @admin.display(description="Address")
    def full_address(self, row: Any) -> SafeString:
        """Return the account."""
        return display.full_account(row.address)

    @admin.display(description="Balance")
    def short_balance(self, row: Any) -> SafeString:
        """Return the balance for the list."""
        return display.amount(row.balance)

    @admin.display(description="Balance")
    def balance_text(self, row: Any) -> SafeString:
        """Return the balance in full."""
        return display.full_amount(row.balance)

    @admin.display(description="Nonce")
    def nonce_text(self, row: Any) -> SafeString | str:
        """Return the nonce."""
        return display.NOTHING if row.nonce is None else f"{row.nonce:,}"

    @admin.display(description="Kind")
    def kind(self, row: Any) -> SafeString:
        """Return whether the account has code, or does not exist."""
        if row.code_hash is None:
            return display.badge("did not exist", "wait")
        if row.code_hash in {
            b"",
            EMPTY_HASH,
        }:  # the history has no hash for an account without code
            return display.badge("account")
        return display.badge("contract", "note")


MAX_SLOTS = 50
"""Maximum number of storage slots shown on an account's page."""


@admin.register(Account)
class AccountAdmin(RowsAdmin):
    """All accounts by address."""

    found_by = "address"
    list_display = ("short_address", "kind", "short_balance", "nonce_text", "transactions")
    ordering = ("address",)
    search_fields = ("address",)
    search_help_text = "Address"
    fieldsets = (
        (None, {"fields": ("full_address", "kind", "balance_text", "nonce_text", "history")}),
        ("Contract", {"fields": ("creation", "full_code_hash", "delegate", "code", "storage")}),
    )

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        return [] if term.address is None else [Q(pk=term.address)]

    @override
    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return an account; an empty one for an address that the chain never touched."""
        found = super().get_object(request, object_id, from_field)
        address = parse_term(object_id).address
        if found is None and address is not None:
            return Account(address=address, nonce=0, balance=0, code_hash=HexBytes(EMPTY_HASH))
        return found

    @override
    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Leave out the fields that only a contract has."""
        shown = super().get_fieldsets(request, obj)
        return shown[:1] if isinstance(obj, Account) and _plain(obj) else shown

    @admin.display(description="Address")
    def short_address(self, account: Account) -> SafeString:
        """Return the address for the list."""
        return display.short(account.address)

    @admin.display(description="Address")
    def full_address(self, account: Account) -> SafeString:
        """Return the address in full."""
        return display.full_account(account.address)

    @admin.display(description="Kind")
    def kind(self, account: Account) -> SafeString:
        """Return whether the account has code."""
        if account.code_hash == EMPTY_HASH:
            return display.badge("account")
        return display.badge("contract", "note")

    @admin.display(description="Balance")
    def short_balance(self, account: Account) -> SafeString:
        """Return the balance for the list."""
        return display.amount(account.balance)

    @admin.display(description="Balance")
    def balance_text(self, account: Account) -> SafeString:
        """Return the balance in full."""
        return display.full_amount(account.balance)

    @admin.display(description="Nonce")
    def nonce_text(self, account: Account) -> str:
        """Return the nonce."""
        return f"{account.nonce:,}"

    @admin.display(description="Transactions")
    def transactions(self, account: Account) -> SafeString:
        """Return a link to the account's transactions."""
        return display.link("Transactions ›", pages.search_page("transaction", account.address))

    @admin.display(description="History")
    def history(self, account: Account) -> SafeString:
        """Return links to the account's transactions, the logs it emitted and its changes."""
        return display.side_by_side(
            *(
                display.link(f"{text} ›", pages.search_page(model, account.address))
                for text, model in (
                    ("Transactions", "transaction"),
                    ("Internal calls", "call"),
                    ("Emitted logs", "log"),
                    ("Changes by block", "accountchange"),
                )
            )
        )

    @admin.display(description="Created by")
    @cached_on_row
    def creation(self, account: Account) -> SafeString:
        """Return the transaction that created a contract, and the creating contract if there is one.

        Without call rows, a contract that another contract created shows nothing.
        """
        if _plain(account):
            return display.NOTHING
        made = creation_of(bytes(account.address))
        if made is not None:
            page = pages.transaction_page(made.transaction)
            shown = display.full_link(made.transaction_hash, page)
            return display.one_per_line(
                shown, display.side_by_side("by", display.full_account(made.creator))
            )
        receipts = objects(Receipt).filter(contract_address=account.address, succeeded=True)
        found = receipts.order_by("contract_address").values_list("pk", "transaction__hash").first()
        if found is None:
            return display.NOTHING
        key, tx_hash = found
        return display.full_link(bytes(tx_hash), pages.transaction_page(key))

    @admin.display(description="Code hash")
    def full_code_hash(self, account: Account) -> SafeString:
        """Return the code's hash."""
        return display.NOTHING if _plain(account) else display.full(account.code_hash)

    @admin.display(description="Delegates to")
    @cached_on_row
    def delegate(self, account: Account) -> SafeString:
        """Return the contract whose code the account runs as its own (EIP-7702)."""
        code = self.code_of(account)
        if not code.startswith(DELEGATION_PREFIX):
            return display.NOTHING
        return display.full_account(HexBytes(code.removeprefix(DELEGATION_PREFIX)))

    @cached_on_row
    def code_of(self, account: Account) -> bytes:
        """Return the account's code."""
        if _plain(account):
            return b""
        code = objects(Code).filter(pk=account.code_hash).values_list("code", flat=True).first()
        return bytes(code or b"")

    @admin.display(description="Code")
    @cached_on_row
    def code(self, account: Account) -> SafeString:
        """Return the code in a scrolling box."""
        return display.box(self.code_of(account))

    @admin.display(description="Storage")
    @cached_on_row
    def storage(self, account: Account) -> SafeString:
        """Return the first slots in the order of their keys."""
        if _plain(account):
            return display.NOTHING
        first, last = bytes(account.address), bytes(account.address) + b"\xff" * 32
        slots = objects(StorageSlot).filter(pk__gte=first, pk__lte=last).order_by("pk")
        shown = list(slots[: MAX_SLOTS + 1])
        if not shown:
            return display.NOTHING
        rows = [
            (display.short(slot.key[20:]), display.full(slot.value)) for slot in shown[:MAX_SLOTS]
        ]
        more = f"The first {MAX_SLOTS} slots." if len(shown) > MAX_SLOTS else ""
        return display.side_by_side(display.table(("Slot", "Value"), rows), more)


@admin.register(AccountChange)
class AccountChangeAdmin(AccountValuesAdmin):
    """The values of accounts before the blocks that changed them, the latest first."""

    list_display = ("before", "short_address", "short_balance", "nonce_text", "kind")
    ordering = ("-id",)
    search_fields = ("address", "number")
    search_help_text = "Address or block"
    fieldsets = (
        (None, {"fields": ("block", "full_address", "balance_text", "nonce_text", "kind")}),
    )

    @override
    def branches(self, term: SearchTerm) -> list[Q]:
        if term.number is not None:
            return rows_of_block(term.number)
        if term.hash is not None:
            return rows_of_block_hash(term.hash)
        return [] if term.address is None else [Q(address=term.address)]

    @override
    def order_for(self, term: SearchTerm) -> str:
        # The index of an account's changes is ordered by address and number; keys are ordered by number.
        return "-id" if term.address is None else "-number"

    @admin.display(description="Before block")
    def before(self, change: AccountChange) -> str:
        """Return the block for the list."""
        return f"{change.number:,}"

    @admin.display(description="Before block")
    def block(self, change: AccountChange) -> SafeString:
        """Return the block."""
        return display.block_link(change.number)


def _plain(account: Account) -> bool:
    return bytes(account.code_hash) == EMPTY_HASH


@admin.register(Contract)
class ContractAdmin(AccountAdmin):
    """Accounts with code by address, found through the partial index `cchain_contract`."""

    list_display = ("short_address", "short_balance", "nonce_text", "created_by", "code_size")

    @override
    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        creations = objects(Receipt).filter(contract_address=OuterRef("address"), succeeded=True)
        codes = objects(Code).filter(pk=OuterRef("code_hash"))
        accounts: QuerySet[Any] = super().get_queryset(request)
        contracts: QuerySet[Any] = accounts.exclude(code_hash=HexBytes(EMPTY_HASH))
        annotated: QuerySet[Any] = contracts.annotate(
            creation_hash=Subquery(
                creations.order_by("contract_address").values("transaction__hash")[:1]
            ),
            code_length=Subquery(codes.annotate(length=Length("code")).values("length")),
        )
        return annotated

    @admin.display(description="Created by")
    def created_by(self, contract: Any) -> SafeString:
        """Return the transaction that created the contract; nothing if another contract created it."""
        if contract.creation_hash is None:
            return display.NOTHING
        page = pages.transaction_page(contract.creation_hash)
        return display.short_link(contract.creation_hash, page)

    @admin.display(description="Code")
    def code_size(self, contract: Any) -> str:
        """Return the length of the contract's code."""
        return counted(contract.code_length or 0, "byte")
