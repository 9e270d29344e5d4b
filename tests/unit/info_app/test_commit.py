"""The commit is read from every format of git's files."""

from pathlib import Path

import pytest

from info_app.version import UNKNOWN, commit_of

COMMIT = "d2ef80d" + "0" * 33
OTHER = "f" * 40


def repository(place: Path, head: str = "ref: refs/heads/main") -> Path:
    (place / "refs" / "heads").mkdir(parents=True)
    (place / "HEAD").write_text(f"{head}\n")
    return place


def test_a_branch_names_its_commit(tmp_path: Path) -> None:
    git = repository(tmp_path / ".git")
    (git / "refs" / "heads" / "main").write_text(f"{COMMIT}\n")

    assert commit_of(tmp_path) == COMMIT


def test_commit_of_a_packed_branch_is_found(tmp_path: Path) -> None:
    git = repository(tmp_path / ".git")
    (git / "packed-refs").write_text(
        f"# pack-refs with: peeled\n{OTHER} refs/heads/other\n{COMMIT} refs/heads/main\n^{OTHER}\n"
    )

    assert commit_of(tmp_path) == COMMIT


def test_loose_ref_takes_precedence_over_a_packed_ref(tmp_path: Path) -> None:
    git = repository(tmp_path / ".git")
    (git / "packed-refs").write_text(f"{OTHER} refs/heads/main\n")
    (git / "refs" / "heads" / "main").write_text(COMMIT)

    assert commit_of(tmp_path) == COMMIT


def test_no_branch_at_all(tmp_path: Path) -> None:
    repository(tmp_path / ".git", head=COMMIT)

    assert commit_of(tmp_path) == COMMIT


def test_a_linked_worktree(tmp_path: Path) -> None:
    main = repository(tmp_path / "main" / ".git")
    (main / "refs" / "heads" / "topic").write_text(COMMIT)
    linked = main / "worktrees" / "topic"
    linked.mkdir(parents=True)
    (linked / "HEAD").write_text("ref: refs/heads/topic\n")
    (linked / "commondir").write_text("../..\n")
    place = tmp_path / "topic"
    place.mkdir()
    (place / ".git").write_text(f"gitdir: {linked}\n")

    assert commit_of(place) == COMMIT


@pytest.mark.parametrize(
    "head", ["", "ref: refs/heads/none", "ref: refs/../../secret", "something else", "ab" * 10]
)
def test_malformed_head_gives_unknown_commit(tmp_path: Path, head: str) -> None:
    repository(tmp_path / ".git", head=head)

    assert commit_of(tmp_path) == UNKNOWN


def test_a_copy_without_a_repository_has_none(tmp_path: Path) -> None:
    assert commit_of(tmp_path) == UNKNOWN
