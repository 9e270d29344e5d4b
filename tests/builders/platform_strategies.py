"""Hypothesis strategies of the P-Chain: any value that has bytes, made from the layout's annotations.

Such values can be encoded; they are well formed only by chance. Well-formed ones are in `platform`.
"""

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from platform_app.txs.base import SignedBody, Tx, UnsignedTx
from platform_app.txs.codec import TYPES, build
from primitives.codec import INTERFACE, FixedLayout
from primitives.codec_compiler import BLOB, TEXT, Number
from primitives.ids import FixedId

MAX_ELEMENTS = 3


def transactions() -> st.SearchStrategy[Tx]:
    """Return signed transactions of any type, with any fields."""
    return bodies().map(lambda body: build(body.unsigned, body.credentials))


def bodies() -> st.SearchStrategy[SignedBody]:
    """Return signed transactions as layouts."""
    return of_annotation(SignedBody)


def unsigned_transactions() -> st.SearchStrategy[UnsignedTx]:
    """Return transactions of any type, with any fields."""
    return of_annotation(Annotated[UnsignedTx, INTERFACE])


@cache
def of_annotation(annotation: Any, within: frozenset[type] = frozenset()) -> Any:
    """Return values of an annotation that occurs within values of these interface types."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _of_mark(arguments[0], arguments[1], within)
    if origin is tuple:
        elements = st.lists(of_annotation(arguments[0], within), max_size=MAX_ELEMENTS)
        return elements.map(tuple)
    if annotation is bool:
        return st.booleans()
    if issubclass(annotation, FixedId):
        return st.binary(min_size=annotation.SIZE, max_size=annotation.SIZE).map(annotation)
    return _of_dataclass(annotation, within)


def _of_mark(base: type, mark: Any, within: frozenset[type]) -> Any:
    if isinstance(mark, Number):
        bits = {"B": 8, "H": 16, "I": 32, "Q": 64}[mark.letter]
        return st.integers(0, 2**bits - 1)
    if isinstance(mark, FixedLayout):
        return st.binary(min_size=mark.size, max_size=mark.size)
    if mark is INTERFACE:
        found = [cls for cls in TYPES.values() if issubclass(cls, base) and cls not in within]
        return st.one_of(*(of_annotation(cls, within | {cls}) for cls in found))
    return {BLOB: st.binary(max_size=40), TEXT: st.text(max_size=20)}[mark]


def _of_dataclass(cls: Callable[..., Any], within: frozenset[type]) -> Any:
    assert is_dataclass(cls)
    hints = get_type_hints(cls, include_extras=True)
    return st.builds(cls, *(of_annotation(hints[field.name], within) for field in fields(cls)))
