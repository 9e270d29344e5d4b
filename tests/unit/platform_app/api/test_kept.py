"""Rendered results are cached while they are valid and there is space."""

from platform_app.api.records import KeptOf, KeptTexts


def test_the_same_object_is_rendered_once() -> None:
    kept: KeptOf[str, list[int], str] = KeptOf(2)
    source, equal = [1], [1]

    assert kept.of("key", source, lambda before: f"after {before}") == "after None"
    assert kept.of("key", source, lambda before: "again") == "after None"
    assert kept.of("key", equal, lambda before: f"after {before}") == "after after None"


def test_requested_entry_survives_unrequested_ones() -> None:
    kept: KeptOf[int, tuple[()], str] = KeptOf(2)
    for key in range(5):
        kept.of(key, (), str)
        kept.of(0, (), lambda before: "0")

    assert kept.of(0, (), lambda before: "again") == "None"
    assert kept.of(3, (), lambda before: "again") == "again"


def test_cached_texts_have_a_byte_limit() -> None:
    kept: KeptTexts[str] = KeptTexts(10)
    made: list[str] = []

    def text(key: str, size: int) -> bytes:
        def make() -> bytes:
            made.append(key)
            return b"x" * size

        return kept.of(key, make)

    for key, size in (("a", 4), ("b", 4), ("a", 4), ("c", 6), ("a", 4), ("b", 4)):
        assert text(key, size) == b"x" * size

    assert made == ["a", "b", "c", "b"]


def test_a_text_that_is_too_long_is_given_all_the_same() -> None:
    kept: KeptTexts[str] = KeptTexts(10)

    assert kept.of("long", lambda: b"x" * 11) == b"x" * 11
    assert kept.of("long", lambda: b"y" * 11) == b"y" * 11
    assert kept.of("short", lambda: b"z") == b"z"
    assert kept.of("short", lambda: b"") == b"z"
