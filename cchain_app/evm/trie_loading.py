"""Load stored nodes into tries in memory, with one read for each depth."""

from collections.abc import Iterable, Mapping

from cchain_app.evm.trie import NodeReader
from cchain_app.evm.trie_editor import TrieEditor


def load(editors: Mapping[TrieEditor, Iterable[bytes]], reader: NodeReader) -> None:
    """Load the nodes on paths in several tries, with one read for each depth."""
    paths = {editor: list(of_editor) for editor, of_editor in editors.items()}
    while _ask(reader, ((editor, editor.wanted(paths[editor])) for editor in paths)):
        pass


def load_siblings(editors: Iterable[TrieEditor], reader: NodeReader) -> None:
    """Load the nodes that will move up when the tries are tidied, with one read."""
    _ask(reader, ((editor, editor.wanted_siblings()) for editor in editors))


def load_everything(editors: Iterable[TrieEditor], reader: NodeReader) -> None:
    """Load whole tries, with one read for each depth."""
    editors = list(editors)
    while _ask(reader, ((editor, editor.everything()) for editor in editors)):
        pass


def _ask(reader: NodeReader, wanted: Iterable[tuple[TrieEditor, set[bytes]]]) -> bool:
    places = [(editor, path) for editor, paths in wanted for path in sorted(paths)]
    if not places:
        return False
    found = reader.nodes([editor.prefix + path for editor, path in places])
    for (editor, path), data in zip(places, found, strict=True):
        editor.supply(path, data)
    return True
