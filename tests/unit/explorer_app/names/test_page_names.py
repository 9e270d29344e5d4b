"""Placeholders of a page's addresses, which are replaced after the page is rendered."""

from explorer_app.names.page_names import NameForm, PageNames
from primitives.evm import Address

FIRST, SECOND = Address(b"\x0a" * 20), Address(b"\xbb" * 20)


def test_placeholders_are_replaced_by_displayed_names() -> None:
    names = PageNames()
    places = [names.place(SECOND, NameForm.SHORT), names.place(FIRST, NameForm.FULL)]
    html = f"<p>{places[0]}, {places[1]} and {names.place(SECOND, NameForm.HEADING)}</p>"

    filled = names.fill(html, lambda address, form: f"{address[0]:x}/{form}")

    assert names.addresses == [SECOND, FIRST]
    assert filled == "<p>bb/short, a/full and bb/heading</p>"


def test_a_text_cannot_be_a_placeholder_of_another_page() -> None:
    forged = PageNames().place(FIRST, NameForm.SHORT)
    names = PageNames()

    assert names.fill(forged, lambda _address, _form: "replaced") == forged
