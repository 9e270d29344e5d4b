"""Pages with a form for each function of a contract: for reading calls, and for transactions.

This module encodes the inputs of a form but signs nothing: a transaction is sent by the holder of the key, which is the
visitor's wallet, or on a development chain the node's own RPC interface for its accounts.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from itertools import islice
from typing import Any, Final, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse

from explorer_app.names.abi_json import Function
from explorer_app.names.encoding import BadFields, BadText, encode_call, example, read_coins
from explorer_app.selectors import interfaces
from explorer_app.selectors.interfaces import ContractInterface
from explorer_app.site import Explorer
from explorer_app.views.addresses import framed
from explorer_app.views.answers import MAX_VALUES, ReadResult, ask, failed
from explorer_app.views.page import cchain_form_page, is_part, name_for_wallets, rendered
from primitives.hexadecimal import encode_data

MAX_INPUTS: Final = 1500
"""Limit of inputs on a page, counting a button as one: functions beyond it have no form."""
MAX_GETTERS: Final = 30
"""Limit of functions whose values are queried together; further functions have a form each."""
_COINS: Final = "coins"


class FormField(NamedTuple):
    """An input of a form, for one parameter."""

    name: str
    """The name in the submitted form."""
    label: str
    type: str
    example: str
    text: str = ""
    error: str = ""

    @property
    def is_bool(self) -> bool:
        """Whether it is a choice between true and false."""
        return self.type == "bool"

    @property
    def is_long(self) -> bool:
        """Whether it needs an input with several lines."""
        return self.type in {"string", "bytes"} or self.type.endswith(("]", ")"))


class PreparedCallData(NamedTuple):
    """A transaction for the visitor to send."""

    data: str
    """Selector and arguments, in hex."""
    value: int
    """In wei."""

    @property
    def quantity(self) -> str:
        """The value in JSON-RPC's format."""
        return hex(self.value)


class FunctionForm(NamedTuple):
    """A form for a function, with the result of its submission."""

    function: Function
    fields: Sequence[FormField]
    is_sent: bool = False
    answer: ReadResult | None = None
    prepared: PreparedCallData | None = None

    @property
    def is_refused(self) -> bool:
        """Whether an input is invalid."""
        return any(field.error for field in self.fields)


class FormGroup(NamedTuple):
    """The forms of functions that come from one ABI."""

    interface: ContractInterface
    forms: Sequence[FunctionForm]


class Getters(NamedTuple):
    """Functions from one ABI that take no arguments."""

    interface: ContractInterface
    rows: Sequence[tuple[Function, ReadResult | None]]
    """Functions with their answers; None if they were not called."""


@cchain_form_page
def read(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show the view functions of a contract; `?values` calls those without arguments, a POST calls the submitted one."""
    account, context = framed(site, text, "contract")
    parts = interfaces.interfaces(site.evm, account.address)
    getters = list(islice(_functions(parts, lambda function: function.is_getter), MAX_GETTERS))
    is_asked = "values" in request.GET
    answers: Sequence[ReadResult | None] = [None] * len(getters)
    if is_asked:
        answers = ask(
            site, account.address, [(getter, getter.declaration.selector) for getter in getters]
        )
    context |= {
        "part": "read",
        "getters": _getters(parts, dict(zip(getters, answers, strict=True))),
        "is_asked": is_asked,
    }
    if is_asked and is_part(request):
        return rendered(site, request, "_contract_values.html", context)

    def answered(form: FunctionForm, data: bytes) -> FunctionForm:
        (answer,) = ask(site, account.address, [(form.function, data)])
        return form._replace(answer=answer)

    groups = _groups(parts, lambda function: function.only_reads and function not in getters)
    return _forms(site, request, groups, answered, context)


@cchain_form_page
def write(site: Explorer, request: HttpRequest, text: str) -> HttpResponse:
    """Show the functions that change a contract; for a POST the transaction for the visitor to send.

    If sending fails because the transaction would revert, the script requests the meaning of the data by `?reverted=`.
    """
    account, context = framed(site, text, "contract")
    if is_part(request) and "reverted" in request.GET:
        answer = failed(site, account.address, _bytes(request.GET["reverted"]))
        context = {"answer": answer.cut(MAX_VALUES)}
        return rendered(site, request, "_trouble.html", context)
    parts = interfaces.interfaces(site.evm, account.address)
    context |= {
        "part": "write",
        "chain_id": site.evm.config.chain_id,
        "chain_name": name_for_wallets(site),
        "host": request.get_host(),
    }

    def prepared(form: FunctionForm, data: bytes) -> FunctionForm:
        coins = next((field.text for field in form.fields if field.name == _COINS), "")
        return form._replace(prepared=PreparedCallData(encode_data(data), read_coins(coins)))

    return _forms(
        site, request, _groups(parts, lambda function: not function.only_reads), prepared, context
    )


def _forms(
    site: Explorer,
    request: HttpRequest,
    groups: Sequence[FormGroup],
    outcome: Callable[[FunctionForm, bytes], FunctionForm],
    context: dict[str, Any],
) -> HttpResponse:
    """Return the page with its forms; a submitted one has its result, and for htmx is returned alone."""
    action = site.pages.reverse(f"explorer:contract-{context['part']}", [context["looked_at"]])
    context |= {"action": action, "groups": groups}
    if request.method != "POST":
        return rendered(site, request, "contract_forms.html", context)
    selector = request.POST.get("function", "")
    sent = next(
        (f for group in groups for f in group.forms if f.function.selector == selector), None
    )
    if sent is None:
        raise Http404("The contract has no such function.")
    form = _filled(sent, request, outcome)
    if is_part(request):
        return rendered(site, request, "_contract_form.html", {**context, "form": form})
    context["groups"] = [
        group._replace(forms=[form if other is sent else other for other in group.forms])
        for group in groups
    ]
    status = HTTPStatus.BAD_REQUEST if form.is_refused else HTTPStatus.OK
    return rendered(site, request, "contract_forms.html", context, status)


def _filled(
    form: FunctionForm, request: HttpRequest, outcome: Callable[[FunctionForm, bytes], FunctionForm]
) -> FunctionForm:
    """Return a form as submitted, with its result, or with the errors of its fields."""
    # Browsers send line breaks of a textarea as CRLF, whatever the user typed.
    texts = [request.POST.get(field.name, "").replace("\r\n", "\n") for field in form.fields]
    fields = [field._replace(text=text) for field, text in zip(form.fields, texts, strict=True)]
    sent = form._replace(fields=fields, is_sent=True)
    reasons: dict[str, str] = {}
    data = b""
    try:
        data = encode_call(form.function.declaration, texts[: len(form.function.parameters)])
    except BadFields as error:
        reasons = {fields[index].name: reason for index, reason in error.reasons.items()}
    if form.function.is_payable:
        try:
            read_coins(texts[-1])
        except BadText as error:
            reasons[_COINS] = str(error)
    if not reasons:
        return outcome(sent, data)
    return sent._replace(
        fields=[field._replace(error=reasons.get(field.name, "")) for field in fields]
    )


def _bytes(text: str) -> bytes:
    """Return revert data that a script received; empty if it is invalid, like an error without data."""
    try:
        return bytes.fromhex(text.removeprefix("0x"))
    except ValueError:
        return b""


def _functions(
    parts: Sequence[ContractInterface], is_meant: Callable[[Function], bool]
) -> Iterator[Function]:
    return (function for part in parts for function in part.functions if is_meant(function))


def _getters(
    parts: Sequence[ContractInterface], answers: Mapping[Function, ReadResult | None]
) -> list[Getters]:
    """Return functions with their answers, grouped by ABI; ABIs without such functions are omitted."""
    groups = [
        Getters(
            part,
            [(function, answers[function]) for function in part.functions if function in answers],
        )
        for part in parts
    ]
    return [group for group in groups if group.rows]


def _groups(
    parts: Sequence[ContractInterface], is_meant: Callable[[Function], bool]
) -> list[FormGroup]:
    """Return empty forms for some functions, up to the limit of inputs; ABIs without such functions are omitted."""
    groups: list[FormGroup] = []
    inputs_left = MAX_INPUTS
    for part in parts:
        forms: list[FunctionForm] = []
        for function in _functions([part], is_meant):
            inputs_left -= len(function.parameters) + 1
            if inputs_left >= 0:
                forms.append(_form(function))
        if forms:
            groups.append(FormGroup(part, forms))
    return groups


def _form(function: Function) -> FunctionForm:
    fields = [
        FormField(
            f"a{index}", parameter.name or f"input {index}", parameter.type, example(parameter)
        )
        for index, parameter in enumerate(function.parameters)
    ]
    if function.is_payable:
        fields.append(FormField(_COINS, "Value to send", "", "0"))
    return FunctionForm(function, fields)
