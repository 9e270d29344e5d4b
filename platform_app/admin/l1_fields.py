"""Form fields for the steps of an L1: IDs, node IDs, addresses, bytes in hexadecimal, amounts in coins."""

from decimal import Decimal
from typing import Any

from django import forms
from typing_extensions import override
from unfold.widgets import (
    UnfoldAdminIntegerFieldWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from adminkit.terms import read_term
from platform_app.apps import platform_chain
from primitives import uint64
from primitives.ids import ID, ShortID


class TermField(forms.CharField):
    """A field for an identifier, in any form that the admin's search understands.

    Args:
        what: What the identifier is, for the error: "a node ID".
        options: The options of Django's field.
    """

    kind = ""
    """The attribute of the search term."""

    def __init__(self, what: str, **options: Any) -> None:
        super().__init__(**{"widget": UnfoldAdminTextInputWidget(), **options})
        self._what = what

    @override
    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return self.read(text) if text else None

    def read(self, text: str) -> Any:
        """Return the identifier in a text.

        Raises:
            ValidationError: The text is not an identifier.
        """
        found = getattr(read_term(text), self.kind)
        if found is None:
            raise forms.ValidationError(f"“{text[:80]}” is not {self._what}.")
        return found


class IDFormField(TermField):
    """A field for the ID of a subnet, of a validation or of a blockchain."""

    kind = "id"


class NodeField(TermField):
    """A field for a node ID."""

    kind = "node_id"


class ManagerChainField(IDFormField):
    """A field for the chain of a validator manager: an ID, or C for the C-Chain."""

    @override
    def read(self, text: str) -> ID:
        if text.upper() == "C":
            return platform_chain().network().c_chain_id
        found: ID = super().read(text)
        return found


class AddressesField(TermField):
    """A field for addresses, separated by spaces, commas or lines."""

    kind = "address"

    def __init__(self, what: str, **options: Any) -> None:
        super().__init__(what, widget=UnfoldAdminTextareaWidget({"rows": 3}), **options)

    @override
    def read(self, text: str) -> list[ShortID]:
        return [
            super(AddressesField, self).read(address) for address in text.replace(",", " ").split()
        ]


class HexField(forms.CharField):
    """A field for bytes in hexadecimal digits, with or without 0x.

    Args:
        size: The only number of bytes; None: any number.
        options: The options of Django's field.
    """

    empty_values = (*forms.CharField.empty_values, b"")
    """Django asks for a value if the field's value is one of these. `0x` is as empty as no text."""

    def __init__(self, size: int | None = None, **options: Any) -> None:
        super().__init__(widget=UnfoldAdminTextareaWidget({"rows": 2}), **options)
        self._size = size

    @override
    def to_python(self, value: Any) -> Any:
        text = super().to_python(value) or ""
        try:
            found = bytes.fromhex(text.removeprefix("0x"))
        except ValueError:
            raise forms.ValidationError("These are not hexadecimal digits.") from None
        if found and self._size not in {None, len(found)}:
            raise forms.ValidationError(f"Expected length {self._size}, got {len(found)}.")
        return found


class NumberField(forms.IntegerField):
    """A field for a whole number, such as a weight."""

    def __init__(self, max_value: int = uint64.MAX, **options: Any) -> None:
        super().__init__(max_value=max_value, widget=UnfoldAdminIntegerFieldWidget(), **options)


class CoinsField(forms.DecimalField):
    """A field for an amount in coins; its value is in the smallest unit."""

    def __init__(self, **options: Any) -> None:
        super().__init__(min_value=0, max_digits=20, widget=UnfoldAdminTextInputWidget(), **options)

    @override
    def clean(self, value: Any) -> Any:
        coins: Decimal | None = super().clean(value)
        if coins is None:
            return 0
        units = coins * platform_chain().config.unit
        if units != int(units):
            decimals = platform_chain().config.decimals
            raise forms.ValidationError(f"A coin has at most {decimals} decimals.")
        if units > uint64.MAX:
            raise forms.ValidationError("There are not so many coins.")
        return int(units)
