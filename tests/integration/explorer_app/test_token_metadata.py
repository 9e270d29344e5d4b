"""Contract output about a token is not trusted, and costs little in every case."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest

from cchain_app.evm.engine import CallInterrupted
from cchain_app.forking.errors import UpstreamAway, UpstreamReason
from cchain_app.selectors.blocks import head
from explorer_app import models
from explorer_app.selectors import contracts
from explorer_app.selectors import tokens as found
from explorer_app.services import token_metadata
from explorer_app.services import tokens as service
from explorer_app.tokens import events, questions
from primitives.evm import Address
from tests.builders import puppet
from tests.builders.bytecode import words
from tests.integration.explorer_app.token_chain import (
    NOBODY,
    NOW,
    OTHER,
    RECIPIENT,
    SENDER,
    TokenChain,
    erc20,
    erc721,
    transfers,
)

LIES = {
    "it reverts": puppet.REVERTS,
    "it answers nothing": puppet.answering(b""),
    "its answer is huge": puppet.answering_many(5_000),
    "its answer takes more gas than there is": puppet.answering_many(200_000),
    "its text is longer than its answer": puppet.answering(words(32, 10**6) + b"x" * 32),
    "its text is elsewhere": puppet.answering(words(2**255, 3) + b"abc".ljust(32, b"\0")),
    "its text does not show": puppet.answering(puppet.string("\u200b\u202e\n\0".encode())),
    "it has no text": puppet.answering(puppet.string(b"")),
}


def tokens_with(tokens: TokenChain, *answers: Mapping[bytes, bytes]) -> list[models.Token]:
    """Deploy puppets, have each emit a transfer, and return their rows in the index."""
    made = tokens.deploy_many(answers)
    tokens.call_each((token, erc20(NOBODY, RECIPIENT, 1)) for token in made)
    tokens.index()
    return [models.Token.objects.get(address=token) for token in made]


def token_with(tokens: TokenChain, answers: Mapping[bytes, bytes]) -> models.Token:
    (made,) = tokens_with(tokens, answers)
    return made


def test_name_that_is_no_text_is_ignored(tokens: TokenChain) -> None:
    made = tokens_with(tokens, *(puppet.of_erc20(NAME=lie) for lie in LIES.values()))

    for lie, token in zip(LIES, made, strict=True):
        shown = (token.kind, token.name, token.symbol, token.decimals)
        assert shown == (20, None, "CN", 6), lie
        assert (token.attempts, token.asks_at) == (1, NOW + token_metadata.FIRST_PAUSE), lie


def test_an_endless_call_is_aborted(tokens: TokenChain) -> None:
    endless = {**puppet.of_erc20(), questions.NAME: puppet.ENDLESS}
    token = token_with(tokens, endless)

    assert (token.kind, token.name, token.symbol) == (20, None, "CN")


def test_texts_are_cleaned(tokens: TokenChain) -> None:
    answers = [
        (b"Old Token".ljust(32, b"\0"), "Old Token"),
        (puppet.string(b"b\xc3\xb6se \xff\xfe!"), "böse \ufffd\ufffd!"),
        (puppet.string(b"<b>x</b>"), "<b>x</b>"),
        (puppet.string("a\u202eb\u200dc\x00d".encode()), "abcd"),
        (puppet.string("é".encode() * 200), "é" * 127),
    ]

    made = tokens_with(
        tokens, *(puppet.of_erc20(NAME=puppet.answering(answer)) for answer, _ in answers)
    )

    assert [token.name for token in made] == [shown for _, shown in answers]


def test_absurd_decimals_are_ignored(tokens: TokenChain) -> None:
    answers = [puppet.answering(words(number)) for number in (77, 78, 255, 2**255)]

    made = tokens_with(tokens, *(puppet.of_erc20(DECIMALS=answer) for answer in answers))

    assert [token.decimals for token in made] == [77, None, None, None]


def test_a_contract_without_a_supply_is_not_a_token(tokens: TokenChain) -> None:
    token = token_with(tokens, puppet.of_erc20(TOTAL_SUPPLY=puppet.REVERTS))

    assert (token.kind, token.name) == (None, None)


def test_contract_that_claims_all_interfaces_supports_none(tokens: TokenChain) -> None:
    yes = {puppet.SUPPORTS: puppet.answering(words(1))}

    assert token_with(tokens, {**puppet.of_erc721(), **yes}).kind is None
    assert token_with(tokens, {**puppet.of_erc20(), **yes}).kind == 20


def test_supports_interface_result_must_be_boolean(tokens: TokenChain) -> None:
    token = token_with(tokens, {**puppet.of_erc721(), puppet.SUPPORTS: puppet.answering(words(2))})

    assert token.kind is None


def test_a_silent_contract_is_queried_at_growing_intervals(tokens: TokenChain) -> None:
    token = token_with(tokens, puppet.of_erc20(SYMBOL=puppet.REVERTS))
    times = []
    for _ in range(token_metadata.MAX_ATTEMPTS):
        token.refresh_from_db()
        times.append(token.asks_at)
        if token.asks_at is not None:
            tokens.index(now=token.asks_at - 1)
            token.refresh_from_db()
            assert token.asks_at == times[-1]
            tokens.index(now=token.asks_at)

    pauses = [later - earlier for earlier, later in zip([NOW, *times], times[:-1], strict=False)]
    assert pauses == [token_metadata.FIRST_PAUSE * 2**place for place in range(11)]
    assert times[-1] is None
    tokens.move(token.address, RECIPIENT, SENDER, 1)
    tokens.index()
    token.refresh_from_db()
    assert (token.asks_at, token.attempts) == (None, 12)
    tokens.move(token.address, NOBODY, SENDER, 1)
    tokens.index()
    token.refresh_from_db()
    assert token.attempts == 1


def test_standard_is_set_by_the_first_event(tokens: TokenChain) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, erc721(NOBODY, SENDER, 1))
    tokens.index()
    assert models.Token.objects.get().kind is None
    tokens.call(coin, puppet.put(OTHER, 3), puppet.emit((events.DEPOSIT, OTHER), words(5)))
    tokens.index()
    assert models.Token.objects.get().kind is None

    tokens.call(coin, erc20(SENDER, RECIPIENT, 1))
    tokens.index()

    assert models.Token.objects.get().kind == 20
    (held,) = found.balances_of(tokens.chain.evm, OTHER).rows
    assert (held.amount, held.differs) == (3, True)


def test_balances_without_an_answer_are_the_sums_of_transfers(tokens: TokenChain) -> None:
    silent = puppet.of_erc20()
    silent[questions.balance(NOBODY)[:4]] = puppet.REVERTS
    token_with(tokens, silent)

    (held,) = found.balances_of(tokens.chain.evm, RECIPIENT).rows
    assert (held.amount, held.asked_height, held.differs, held.to_ask) == (1, None, False, False)


def test_a_reported_balance_follows_transfers_until_the_next_report(tokens: TokenChain) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, puppet.put(RECIPIENT, 1_000), erc20(NOBODY, RECIPIENT, 7))
    tokens.index()
    evm = tokens.chain.evm
    assert [(row.amount, row.differs) for row in found.balances_of(evm, RECIPIENT).rows] == [
        (1_000, True)
    ]

    tokens.move(coin, RECIPIENT, SENDER, 10)
    tokens.index(seconds=0)
    models.TokenBalance.objects.filter(holder=RECIPIENT).update(to_ask=False)

    assert models.TokenBalance.objects.get(holder=RECIPIENT).summed == 2**256 - 3
    tokens.call(coin, puppet.put(RECIPIENT, 2**256 - 3), erc20(RECIPIENT, SENDER, 0))
    tokens.index()
    assert [(row.amount, row.differs) for row in found.balances_of(evm, RECIPIENT).rows] == [
        (2**256 - 3, False)
    ]


def test_a_name_like_an_earlier_tokens_or_the_coins_is_marked(tokens: TokenChain) -> None:
    names = ("Coin", "Other", " coin ", "ＣＯＩＮ", "Avalanche", "Else")
    answers = [
        puppet.of_erc20(name=name.encode(), symbol=b"C%d" % place)
        for place, name in enumerate(names)
    ]
    nameless = puppet.of_erc20(NAME=puppet.REVERTS, SYMBOL=puppet.REVERTS)

    made = tokens_with(tokens, *answers, nameless, nameless)

    marks = [bool(found.token(tokens.chain.evm, token.address).is_copy) for token in made]
    assert marks == [False, False, True, True, True, False, False, False]


def test_updates_of_one_token_do_not_delay_others(tokens: TokenChain, monkeypatch: Any) -> None:
    asked: list[Address] = []
    ask = service.ask_contract

    def noted(asking: Any, token: Any, now: int) -> Any:
        asked.append(token.address)
        return ask(asking, token, now)

    monkeypatch.setattr(service, "ask_contract", noted)
    noisy, other = sorted(tokens.deploy(puppet.of_erc20(SYMBOL=puppet.REVERTS)) for _ in range(2))
    tokens.call_each((token, erc20(NOBODY, RECIPIENT, 1)) for token in (noisy, other))
    tokens.index()
    later = NOW + token_metadata.FIRST_PAUSE
    tokens.move(noisy, NOBODY, RECIPIENT, 1)
    new = tokens.deploy(puppet.of_erc20())
    tokens.move(new, NOBODY, RECIPIENT, 1)
    asked.clear()

    # The new token was never queried, and the other one is due before the update of the noisy one.
    tokens.index(now=later + 1)

    assert asked == [new, other, noisy]


@contextmanager
def fails(tokens: TokenChain, error: Exception, at: Address, *questions_: bytes) -> Iterator[None]:
    """Make all or some calls of a contract fail with an error of the engine."""
    engine = type(tokens.chain.evm.engine)
    call = engine.call

    def failing(self: Any, env: Any, message: Any, *others: Any, **options: Any) -> Any:
        if message.to == at and message.data.startswith(questions_ or b""):
            raise error
        return call(self, env, message, *others, **options)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine, "call", failing)
        yield


AWAY = UpstreamAway(UpstreamReason.NO_ANSWER, host="a.test", problem="no connection")
NOT_TOLD = [AWAY, CallInterrupted("it took too long")]


@pytest.mark.parametrize("error", NOT_TOLD)
def test_an_undetermined_token_is_queried_later_without_delaying_others(
    tokens: TokenChain, caplog: Any, error: Exception
) -> None:
    away, there = (tokens.deploy(puppet.of_erc20()) for _ in range(2))
    tokens.call(there, puppet.put(RECIPIENT, 5), erc20(NOBODY, RECIPIENT, 5))
    tokens.move(away, NOBODY, RECIPIENT, 5)
    tokens.index()
    tokens.move(away, NOBODY, RECIPIENT, 5)
    tokens.move(there, NOBODY, OTHER, 5)

    with fails(tokens, error, away, questions.SYMBOL):
        assert tokens.index() == 2

    assert f"token 0x{away.hex()} will be queried later: {error}" in caplog.text
    first, second = (models.Token.objects.get(address=token) for token in (away, there))
    later = NOW + token_metadata.FIRST_PAUSE
    # The earlier value stays.
    assert (first.symbol, first.asked_height, first.asks_at, first.attempts) == ("CN", 4, later, 1)
    assert (second.asked_height, second.asks_at) == (6, None)
    tokens.index(now=later)
    first.refresh_from_db()
    assert (first.asked_height, first.asks_at, first.attempts) == (6, None, 0)


@pytest.mark.parametrize("error", NOT_TOLD)
def test_an_undetermined_balance_is_queried_again_after_the_others(
    tokens: TokenChain, error: Exception
) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.call(coin, puppet.put(OTHER, 9), puppet.put(RECIPIENT, 8))
    tokens.call(coin, erc20(NOBODY, OTHER, 1), erc20(NOBODY, RECIPIENT, 1))
    first = min(OTHER, RECIPIENT)

    with fails(tokens, error, coin, questions.balance(first)):
        tokens.index()

    held = {balance.holder: balance for balance in models.TokenBalance.objects.all()}
    assert (held[first].amount, held[first].to_ask) == (1, True)
    (second,) = (balance for holder, balance in held.items() if holder != first)
    assert (second.asked_height, second.to_ask) == (3, False)
    tokens.index()
    assert models.TokenBalance.objects.get(holder=first).asked_height == 3


def test_transfers_of_undetermined_accounts_are_shown(
    tokens: TokenChain, monkeypatch: Any, caplog: Any
) -> None:
    coin = tokens.deploy(puppet.of_erc20())
    tokens.move(coin, OTHER, RECIPIENT, 7)

    def away(*_: Any) -> None:
        raise AWAY

    with monkeypatch.context() as patched:
        patched.setattr(contracts, "prefetch_accounts", away)
        assert tokens.index() == 2

    assert [row[-1] for row in transfers()] == [False]
    assert "a.test does not answer" in caplog.text
    assert found.token(tokens.chain.evm, coin) is not None


def test_an_unindexed_transfer_of_an_unknown_contract_is_an_amount(
    tokens: TokenChain,
) -> None:
    cats = tokens.deploy(puppet.of_erc721())
    tokens.call(cats, puppet.emit((events.TRANSFER,), words(NOBODY, SENDER, 5)))

    with fails(tokens, NOT_TOLD[0], cats):
        assert tokens.index() == 2

    assert [(row[0], row[5]) for row in transfers()] == [(20, 5)]


def test_metadata_calls_have_a_gas_limit(tokens: TokenChain, monkeypatch: Any) -> None:
    asked = []
    engine = type(tokens.chain.evm.engine)
    call = engine.call

    def watched(self: Any, env: Any, message: Any, *others: Any, **options: Any) -> Any:
        asked.append((message.gas, len(message.data), options["time_limit"]))
        return call(self, env, message, *others, **options)

    monkeypatch.setattr(engine, "call", watched)
    token_with(tokens, puppet.of_erc20())

    assert {limit for *_, limit in asked} == {contracts.SECONDS}
    gas = {maximum - 21_000 - 16 * size for maximum, size, _ in asked}
    assert gas == {questions.GAS, questions.GAS_OF_INTERFACES}


def test_metadata_calls_on_a_fork_wait_for_the_remote_node(
    tokens: TokenChain, monkeypatch: Any
) -> None:
    evm, limits = tokens.chain.evm, []

    def interrupted(*_: Any, time_limit: float) -> Any:
        limits.append(time_limit)
        raise CallInterrupted("it took too long")

    monkeypatch.setattr(type(evm.engine), "call", interrupted)
    asked = contracts.Contracts(evm, head(evm))
    monkeypatch.setattr(type(evm), "fork", object())

    with pytest.raises(contracts.DetailsUnavailable, match="it took too long"):
        asked.ask(SENDER, questions.NAME)

    assert limits == [contracts.SECONDS + evm.settings.fork.timeout]
