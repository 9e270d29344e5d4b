"""No file of vectors is forgotten: each is named by a test."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent
VECTORS = HERE.parent / "vectors" / "pchain"


def used_anywhere(name: str) -> bool:
    """Say whether a test names the file."""
    return any(f'"{name}"' in path.read_text() for path in HERE.rglob("test_*.py"))


@pytest.mark.parametrize("name", sorted(path.stem for path in VECTORS.glob("*.json")))
def test_every_file_of_vectors_is_tested(name: str) -> None:
    assert used_anywhere(name)
