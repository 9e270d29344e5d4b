"""The record of sent heads: each is sent once, in order, whatever the chain does meanwhile."""

from contextlib import closing

from cchain_app.api.rpc import SentHeads


def begun(number: int) -> SentHeads:
    heads = SentHeads()
    heads.begin_at(number)
    return heads


def test_each_height_is_due_once_and_in_order() -> None:
    heads = begun(5)
    assert list(heads.due(8)) == [6, 7, 8]
    assert list(heads.due(8)) == []
    assert list(heads.due(9)) == [9]


def test_nothing_is_due_before_anybody_listens() -> None:
    assert list(SentHeads().due(3)) == []


def test_what_is_being_sent_is_not_sent_by_another_one() -> None:
    heads = begun(5)
    with closing(heads.due(6)) as due:
        assert next(due) == 6
        assert list(heads.due(8)) == []
        assert list(due) == [7, 8]


def test_a_height_whose_sending_was_left_is_due_again() -> None:
    heads = begun(5)
    with closing(heads.due(7)) as due:
        assert next(due) == 6
    assert list(heads.due(7)) == [6, 7]


def test_a_chain_that_goes_back_while_a_height_is_sent_has_all_its_heights_sent() -> None:
    heads = begun(6)
    with closing(heads.due(8)) as due:
        assert [next(due), next(due)] == [7, 8]
        heads.go_back(5)
        assert list(due) == []
    assert list(heads.due(7)) == [6, 7]
