"""Packages that raise Python's recursion limit leave it unchanged, whichever module imports them first."""

import subprocess
import sys
import threading

import pytest

from primitives.recursion import recursion_limit_raised, recursion_limit_restored

MNEMONIC = "legal winner thank year wave sausage worth useful legal winner thank yellow"
KEYS = f"from cchain_app.accounts.keyring import *; development_keyring({MNEMONIC!r}, 1, 'm/0')"
TYPED_DATA = (
    "from cchain_app.accounts.messages import typed_data_digest; "
    "typed_data_digest({'types': {'EIP712Domain': [], 'A': []}, 'primaryType': 'A', "
    "'domain': {}, 'message': {}})"
)


@pytest.mark.parametrize("use", [KEYS, TYPED_DATA, "import primitives.bls_py_ecc"])
def test_import_keeps_the_recursion_limit(use: str) -> None:
    code = f"import sys; {use}; print('py_ecc' in sys.modules, sys.getrecursionlimit())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True 1000\n"


def test_the_limit_is_restored_after_a_failure() -> None:
    limit = sys.getrecursionlimit()

    def fail() -> None:
        with recursion_limit_restored():
            sys.setrecursionlimit(limit + 7)
            raise ModuleNotFoundError("no module")

    with pytest.raises(ModuleNotFoundError, match="no module"):
        fail()
    assert sys.getrecursionlimit() == limit


def test_concurrent_import_keeps_the_original_limit() -> None:
    limit, entered, seen = sys.getrecursionlimit(), threading.Event(), []

    def enter() -> None:
        entered.set()
        with recursion_limit_restored():
            seen.append(sys.getrecursionlimit())

    other = threading.Thread(target=enter)
    with recursion_limit_restored():
        sys.setrecursionlimit(limit + 7)
        other.start()
        assert entered.wait(10)
    other.join(10)
    assert seen == [limit]
    assert sys.getrecursionlimit() == limit


def test_recursion_limit_is_raised_until_the_last_user_leaves() -> None:
    limit = sys.getrecursionlimit()
    with recursion_limit_raised(limit + 9):
        with recursion_limit_raised(limit + 5):
            assert sys.getrecursionlimit() == limit + 9
        assert sys.getrecursionlimit() == limit + 9
    assert sys.getrecursionlimit() == limit
    with recursion_limit_raised(limit - 1):
        assert sys.getrecursionlimit() == limit


def test_recursion_limit_is_not_raised_during_another_import() -> None:
    limit, entered, seen = sys.getrecursionlimit(), threading.Event(), []

    def enter() -> None:
        entered.set()
        with recursion_limit_raised(limit + 9):
            seen.append(sys.getrecursionlimit())

    other = threading.Thread(target=enter)
    with recursion_limit_restored():
        sys.setrecursionlimit(limit + 99)
        other.start()
        assert entered.wait(10)
    other.join(10)
    assert seen == [limit + 9]
    assert sys.getrecursionlimit() == limit
