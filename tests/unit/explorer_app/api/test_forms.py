"""Forms are parsed like Django's, in time proportional to their length."""

import gc
import tracemalloc
from collections.abc import Callable
from urllib.parse import urlencode

import msgspec
import pytest
from django.core.exceptions import TooManyFieldsSent
from django.http import QueryDict
from hypothesis import example, given
from hypothesis import strategies as st

from explorer_app.api import forms
from explorer_app.api.forms import MalformedForm, from_json, from_urlencoded
from explorer_app.verification.errors import SubmissionTooLarge

MOST = 10_000_000
SIGNS = [b"%", b"=", b"&", b"+", b"4", b"f", b"G", b" ", b"\r\n", b"_", b"\0", b"%e2%82%AC", b"%C3"]


def peak(read: Callable[[], object]) -> int:
    """Return the peak memory of a piece of work in bytes."""
    gc.collect()
    tracemalloc.start()
    try:
        read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@given(st.lists(st.sampled_from([*SIGNS, "é€😀".encode(), b"\xe9"])).map(b"".join))
@example(b"a%20b=%41%4&&=c&d&a+b=%%34%31&x==%3d=%25")
def test_a_form_is_parsed_like_in_django(body: bytes) -> None:
    expected = dict(QueryDict(body, encoding="utf-8").items())
    for piece in (3, 5, forms.PIECE):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forms, "PIECE", piece)

            assert from_urlencoded(body, maximum=MOST) == expected


def test_sources_are_read_as_they_were_written() -> None:
    source = "contract A { uint a = 7 % 3; } // é€😀\n" * 20_000

    body = urlencode({"sourceCode": source, "a": "b"}).encode()

    assert from_urlencoded(body, maximum=MOST) == {"sourceCode": source, "a": "b"}


@pytest.mark.parametrize(
    "sign", [b"%41", b"%", b"%g", b"%%41", b"a", b"\xc3\xa9", b"\xe9", b"=", b"+"]
)
def test_a_form_costs_no_more_than_a_few_times_its_length(sign: bytes) -> None:
    body = b"a=" + sign * (2_000_000 // len(sign))

    assert peak(lambda: from_urlencoded(body, maximum=MOST)) < 5 * len(body)


def test_form_value_above_the_maximum_is_refused() -> None:
    assert from_urlencoded(b"a=" + b"%41" * 1000, maximum=1000) == {"a": "A" * 1000}
    for body in (b"a=" + b"%41" * 1001, b"a" * 1001 + b"=", b"a=" + b"b" * 2_000_000):
        with pytest.raises(SubmissionTooLarge):
            from_urlencoded(body, maximum=1000)


def test_a_form_has_as_many_fields_as_django_takes() -> None:
    names = [f"a{number}" for number in range(1001)]
    fields = dict.fromkeys(names[:1000], "")

    assert from_urlencoded(urlencode(fields).encode(), maximum=MOST) == fields
    assert from_json(msgspec.json.encode(fields), maximum=MOST) == fields
    fields[names[1000]] = ""
    with pytest.raises(TooManyFieldsSent):
        from_urlencoded(urlencode(fields).encode(), maximum=MOST)
    with pytest.raises(TooManyFieldsSent):
        from_json(msgspec.json.encode(fields), maximum=MOST)


def test_nothing_is_made_of_a_json_form_with_too_many_fields() -> None:
    body = msgspec.json.encode({str(number): "" for number in range(100_000)})

    def read() -> None:
        with pytest.raises(TooManyFieldsSent):
            from_json(body, maximum=MOST)

    assert peak(read) < len(body) // 10


@pytest.mark.parametrize("body", [b"[]", b"{", b'{"a": 1}', b'{"a": {"b": ""}}', b"\xff"])
def test_a_json_form_is_an_object_of_texts(body: bytes) -> None:
    with pytest.raises(MalformedForm):
        from_json(body, maximum=MOST)


def test_json_form_can_have_the_length_of_sources() -> None:
    body = msgspec.json.encode({"sourceCode": '"{,[' * 1000})

    assert from_json(body, maximum=len(body)) == {"sourceCode": '"{,[' * 1000}
    assert from_json(b"", maximum=0) == {}
    with pytest.raises(SubmissionTooLarge):
        from_json(body, maximum=len(body) - 1)
