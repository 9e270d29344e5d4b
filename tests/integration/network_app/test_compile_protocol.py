"""The committed message classes equal the script's output for the .proto files."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[3]
WIRE = Path("network_app/wire")


def test_the_classes_are_made_of_the_files_beside_them(tmp_path: Path) -> None:
    subprocess.run([ROOT / "scripts/compile_protocol.sh", tmp_path], check=True)
    made = {path.name: path.read_text() for path in (tmp_path / WIRE).iterdir()}
    committed = {path.name: path.read_text() for path in (ROOT / WIRE).glob("*_pb2.py*")}

    assert set(made) == {
        f"{path.stem}_pb2{suffix}"
        for path in (ROOT / WIRE).glob("*.proto")
        for suffix in (".py", ".pyi")
    }
    assert made == committed
