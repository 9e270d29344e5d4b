"""The tree of rejection errors: complete in its docstring, each leaf with its own message."""

import inspect

import pytest

from platform_app.txs import errors
from utxo import errors as utxo_errors
from utxo.errors import InvalidTx

MODULES = (errors, utxo_errors)
CLASSES = [
    cls
    for module in MODULES
    for _, cls in inspect.getmembers(module, inspect.isclass)
    if issubclass(cls, InvalidTx) and cls.__module__ == module.__name__
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_each_class_is_drawn_in_the_tree(cls: type[InvalidTx]) -> None:
    (module,) = (module for module in MODULES if module.__name__ == cls.__module__)
    assert cls.__name__ in str(module.__doc__).split()


def test_no_two_reasons_have_the_same_words() -> None:
    words = [cls.words for cls in CLASSES if "words" in vars(cls)]

    assert len(words) == len(set(words))
    assert len(words) > 30


def test_a_message_wins_over_the_words() -> None:
    assert str(errors.NoStake()) == "no stake"
    assert str(errors.NoStake("none at all")) == "none at all"
