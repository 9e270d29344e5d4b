"""The parts of a docstring that the reference uses."""

from nodeproject.web.openrpc.entries import DocumentedError, read


def plain() -> None:
    """eth_this: give an account a balance."""


def whole() -> None:
    """eth_this and eth_that: what an account has (tracing.md 3). Unspecified: more than geth has.

    A paragraph of
    two lines (`elsewhere`).

    Unspecified: `pending` is the head.

    Args:
        rpc: The door.

    Raises:
        JsonRpcError: -32000, there is no such block; 3, it
            reverts.
        DevelopmentError: Others follow the chain.
    """


def alike() -> None:
    """eth_alike: the same. Raises as `whole`."""


def nameless() -> None:
    """Say nothing of a method."""


def silent() -> None:
    pass


def test_a_summary_is_a_sentence() -> None:
    assert read(plain) == ("Give an account a balance.", "", ())


def test_paragraphs_are_the_description_without_what_only_readers_of_code_need() -> None:
    told = read(whole)

    assert told.summary == "What an account has. More than geth has."
    assert told.description == "A paragraph of two lines.\n\n`pending` is the head."


def test_errors_have_codes_or_names() -> None:
    assert read(whole).failures == (
        DocumentedError("JsonRpcError", -32000, "There is no such block"),
        DocumentedError("JsonRpcError", 3, "It reverts"),
        DocumentedError("DevelopmentError", None, "Others follow the chain"),
    )


def test_errors_may_be_those_of_another_handler() -> None:
    told = read(alike)

    assert told.summary == "The same."
    assert told.failures == read(whole).failures


def test_without_a_name_there_is_no_summary() -> None:
    assert read(nameless).summary == read(silent).summary == ""
