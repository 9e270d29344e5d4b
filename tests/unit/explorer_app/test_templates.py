"""The explorer's templates: links lead to pages of the chain that the page shows."""

import re
from pathlib import Path

import pytest
from django.template import Context, Engine, Template
from django.urls import NoReverseMatch

import explorer_app
from explorer_app.site import OF_EVERY_CHAIN, ChainPages
from explorer_app.templatetags.explorer import sparkline

TEMPLATES = sorted((Path(explorer_app.__file__).parent / "templates" / "explorer").glob("*.html"))
HASH = "0x" + "12" * 32


def shown(text: str, **context: object) -> str:
    engine = Engine(libraries={"explorer": "explorer_app.templatetags.explorer"})
    return Template(text, engine=engine).render(Context(context))


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.name)
def test_links_to_pages_of_chains_are_those_of_the_page(template: Path) -> None:
    text = template.read_text()
    names = set(re.findall(r"{% url 'explorer:([a-z0-9-]+)'", text))
    if names & OF_EVERY_CHAIN and template.name != "error.html":
        assert re.search(r"{% load [^%]*\bexplorer\b", text), "Django's own tag knows one chain"


def test_the_tag_has_the_form_of_djangos() -> None:
    pages = ChainPages("dex")
    tag = "{% load explorer %}{% url 'explorer:tx' hash %}"
    assert shown(tag, pages=pages, hash=HASH) == f"/chain/dex/tx/{HASH}"
    assert shown(tag, hash=HASH) == f"/tx/{HASH}"
    named = "{% load explorer %}{% url 'explorer:tx' tx_hash=hash as page %}<{{ page }}>"
    assert shown(named, pages=pages, hash=HASH) == f"</chain/dex/tx/{HASH}>"
    assert shown("{% load explorer %}{% url 'explorer:front' %}", pages=pages) == "/chain/dex"
    assert shown("{% load explorer %}{% url 'explorer:p-txs' %}", pages=pages) == "/p/txs"
    with pytest.raises(NoReverseMatch):
        shown("{% load explorer %}{% url 'explorer:nothing' %}", pages=pages)


def test_a_chain_has_a_url_for_tools() -> None:
    assert ChainPages().base == ""
    assert ChainPages("dex").base == "/chain/dex"


def test_a_chart_has_a_text_for_each_value_and_escapes_it() -> None:
    chart = sparkline([1, 3, 2], "<b>Blocks</b>", ["1 & less", "<script>", "2"])
    assert re.findall("<title>(.*?)</title>", chart) == ["1 &amp; less", "&lt;script&gt;", "2"]
    assert re.findall('<rect x="(.*?)" width="(.*?)"', chart) == [
        ("-25.0", "50.0"),
        ("25.0", "50.0"),
        ("75.0", "50.0"),
    ]
    assert 'aria-label="&lt;b&gt;Blocks&lt;/b&gt;"' in chart
    assert 'points="0.0,18.3 50.0,1.0 100.0,9.7"' in chart
