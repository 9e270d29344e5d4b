"""`make images` pins the images of deploy/ by digest: all of them or none."""

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FILES = ("deploy/Dockerfile", "deploy/compose.yml")
# A stand-in for docker: its registry returns a digest computed from the image's name and a salt.
DOCKER = """\
#!/bin/sh
for image; do :; done
if [ "$image" = "$MISSING" ]; then echo "not found" >&2; exit 1; fi
echo "sha256:$(printf %s "$SALT$image" | sha256sum | cut -d' ' -f1)"
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("scripts/pin_images.sh", *FILES):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "docker").write_text(DOCKER)
    (tmp_path / "docker").chmod(0o755)
    return tmp_path


def pin(checkout: Path, **environment: str) -> int:
    path = f"{checkout}:/usr/bin:/bin"
    command = [checkout / "scripts/pin_images.sh"]
    return subprocess.run(command, env={"PATH": path, **environment}, check=False).returncode


def images(checkout: Path) -> list[str]:
    """Return the images other than the node's own, and its stages."""
    text = "".join((checkout / name).read_text() for name in FILES)
    found = re.findall(r"^(?:FROM| *image:) +(\S+)", text, re.MULTILINE)
    return [image for image in found if image not in {"nunatak", "node"}]


def digest(image: str, salt: str = "") -> str:
    return f"{image}@sha256:{hashlib.sha256((salt + image).encode()).hexdigest()}"


def test_digests_of_images_are_pinned_and_updated(checkout: Path) -> None:
    tags = [image.partition("@")[0] for image in images(checkout)]
    assert len(tags) == 6
    lines = [(checkout / name).read_text().count("\n") for name in FILES]

    for salt in ("", "later"):
        assert pin(checkout, SALT=salt) == 0
        assert images(checkout) == [digest(tag, salt) for tag in tags]
    assert " AS build\n" in (checkout / FILES[0]).read_text()
    assert [(checkout / name).read_text().count("\n") for name in FILES] == lines


def test_missing_image_changes_nothing(checkout: Path) -> None:
    before = images(checkout)

    assert pin(checkout, MISSING=before[-1].partition("@")[0]) != 0
    assert images(checkout) == before
