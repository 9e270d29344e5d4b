"""The steps of an L1 in the admin, from its subnet to its validators, with the keys of a keystore user.

Each step is a form. The user's password is neither kept nor logged; the keystore counts failed attempts as for its
other callers.
"""

from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.models import ADDITION
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.debug import sensitive_post_parameters
from typing_extensions import override
from unfold.widgets import (
    UnfoldAdminPasswordWidget,
    UnfoldAdminTextareaWidget,
    UnfoldAdminTextInputWidget,
)

from adminkit.actions import log_action
from adminkit.terms import read_term
from chaindb import clock
from platform_app.admin import links
from platform_app.admin.l1_fields import (
    AddressesField,
    CoinsField,
    HexField,
    IDFormField,
    ManagerChainField,
    NodeField,
    NumberField,
)
from platform_app.apps import platform_chain
from platform_app.services import l1_wallet, wallet
from platform_app.services.errors import RefusedIssue
from platform_app.services.l1_wallet import L1ValidatorTerms
from platform_app.services.wallet import IssueResult, Payer
from platform_app.txs.base import ProofOfPossession
from platform_app.wallet.errors import KeystoreError, WalletError
from primitives.codec_errors import CodecError
from primitives.ids import ID, IdError
from utxo.errors import InvalidTx

PERMISSION: Final = "platform_app.change_keystoreuser"
_REFUSED: Final = (InvalidTx, RefusedIssue, KeystoreError, WalletError, CodecError)


class StepForm(forms.Form):
    """A step: the user who pays and signs, and the terms."""

    title: ClassVar[str]
    explanation: ClassVar[str]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"] = forms.CharField(
            label="Keystore user", widget=UnfoldAdminTextInputWidget({"autocomplete": "off"})
        )
        self.fields["password"] = forms.CharField(
            label="Password of this user",
            strip=False,
            widget=UnfoldAdminPasswordWidget({"autocomplete": "off"}),
        )

    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue the transaction of the step; the form of each step overrides it."""
        raise NotImplementedError

    def need_without_message(self, *names: str) -> None:
        """Add an error to each of these fields that is empty, if the field of the message is empty too."""
        if self.cleaned_data.get("message") or "message" in self.errors:
            return
        for name in names:
            if self.cleaned_data.get(name) is None and name not in self.errors:
                self.add_error(name, "This is needed if there is no message.")


class SubnetStep(StepForm):
    """The creation of a subnet."""

    title = "Create a subnet"
    explanation = "The ID of the transaction is the ID of the subnet."

    control_keys = AddressesField("an address of the P-Chain", label="Control keys")
    threshold = NumberField(
        label="Signatures that are needed", min_value=1, max_value=2**32 - 1, initial=1
    )

    @override
    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue a CreateSubnetTx."""
        return wallet.create_subnet(platform_chain(), payer, now=clock.now(), **terms)


class BlockchainStep(StepForm):
    """The creation of a blockchain."""

    title = "Create a blockchain"
    explanation = "The ID of the transaction is the ID of the blockchain. A subnet that is an L1 gets no more blockchains."

    subnet_id = IDFormField("the ID of a subnet", label="Subnet")
    name = forms.CharField(label="Name", widget=UnfoldAdminTextInputWidget(), max_length=128)
    vm = forms.CharField(label="VM", initial="subnetevm", widget=UnfoldAdminTextInputWidget())
    genesis = forms.CharField(label="Genesis", widget=UnfoldAdminTextareaWidget({"rows": 8}))

    def clean_vm(self) -> ID:
        """Return the VM's ID from its name, or from the ID itself."""
        text = self.cleaned_data["vm"]
        try:
            return read_term(text).id or ID.of_name(text)
        except (UnicodeEncodeError, IdError):
            raise forms.ValidationError("This is no name of a VM, and no ID.") from None

    @override
    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue a CreateChainTx."""
        return wallet.create_blockchain(
            platform_chain(),
            payer,
            subnet_id=terms["subnet_id"],
            name=terms["name"],
            vm_id=terms["vm"],
            fx_ids=(),
            genesis_data=terms["genesis"].encode(),
            now=clock.now(),
        )


class ValidatorFields(forms.Form):
    """The terms of a validator."""

    node_id = NodeField("a node ID", label="Node (empty: this node)", required=False)
    weight = NumberField(label="Weight", min_value=0, initial=100)
    balance = CoinsField(label="Balance in coins", required=False, initial=1)
    public_key = HexField(48, label="BLS key (not for this node)", required=False)
    proof = HexField(96, label="Proof of possession (not for this node)", required=False)

    @staticmethod
    def terms_of(given: dict[str, Any]) -> L1ValidatorTerms:
        """Return the terms in a form's values."""
        key, proof = given["public_key"], given["proof"]
        return L1ValidatorTerms(
            node_id=given["node_id"] or platform_chain().node_id,
            weight=given["weight"],
            balance=given["balance"],
            signer=ProofOfPossession(key, proof) if key and proof else None,
        )


class ConversionStep(StepForm, ValidatorFields):
    """The conversion of a subnet to an L1."""

    title = "Convert a subnet to an L1"
    explanation = (
        "A contract manages the validators from then on. The conversion cannot be undone. Further validators are "
        "registered afterwards."
    )

    subnet_id = IDFormField("the ID of a subnet", label="Subnet")
    manager_chain_id = ManagerChainField(
        "C, or the ID of a blockchain",
        label="Chain of the validator manager",
        initial="C",
    )
    manager_address = HexField(20, label="Address of the validator manager")

    field_order = ("subnet_id", "manager_chain_id", "manager_address")

    @override
    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue a ConvertSubnetToL1Tx."""
        return l1_wallet.convert_subnet(
            platform_chain(),
            payer,
            subnet_id=terms["subnet_id"],
            manager_chain_id=terms["manager_chain_id"],
            manager_address=terms["manager_address"],
            validators=[self.terms_of(terms)],
            now=clock.now(),
        )


class RegistrationStep(StepForm, ValidatorFields):
    """The registration of a validator."""

    title = "Register an L1 validator"
    explanation = (
        "With a signed message of the L1's manager only the proof of possession and the balance are needed besides. "
        "On the local network the node signs for the manager if there is no message."
    )

    message = HexField(label="Signed message", required=False)
    subnet_id = IDFormField("the ID of a subnet", label="L1 (without a message)", required=False)

    field_order = ("message", "subnet_id")

    @override
    def clean(self) -> None:
        self.need_without_message("subnet_id")

    @override
    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue a RegisterL1ValidatorTx."""
        chain, now = platform_chain(), clock.now()
        if not terms["message"]:
            return l1_wallet.register_for_manager(
                chain,
                payer,
                subnet_id=terms["subnet_id"],
                terms=self.terms_of(terms),
                now=now,
            )
        return l1_wallet.register_validator(
            chain,
            payer,
            message=terms["message"],
            proof_of_possession=terms["proof"] or chain.proof_of_possession.proof_of_possession,
            balance=terms["balance"],
            now=now,
        )


class WeightStep(StepForm):
    """The change of a validator's weight."""

    title = "Set the weight of an L1 validator"
    explanation = (
        "Weight 0 removes the validator and returns its balance. With a signed message of the L1's manager nothing "
        "else is needed. On the local network the node signs for the manager if there is no message."
    )

    message = HexField(label="Signed message", required=False)
    validation_id = IDFormField(
        "a validation ID", label="Validation (without a message)", required=False
    )
    weight = NumberField(label="Weight (without a message)", min_value=0, required=False)

    @override
    def clean(self) -> None:
        self.need_without_message("validation_id", "weight")

    @override
    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue a SetL1ValidatorWeightTx."""
        chain, now = platform_chain(), clock.now()
        if terms["message"]:
            return l1_wallet.set_weight(chain, payer, message=terms["message"], now=now)
        return l1_wallet.set_weight_for_manager(
            chain,
            payer,
            validation_id=terms["validation_id"],
            weight=terms["weight"],
            now=now,
        )


class BalanceStep(StepForm):
    """The increase of a validator's balance."""

    title = "Add to the balance of an L1 validator"
    explanation = "An inactive validator becomes active again. Anybody may pay for any validator."

    validation_id = IDFormField("a validation ID", label="Validation")
    balance = CoinsField(label="Coins to add", initial=1)

    @override
    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue an IncreaseL1ValidatorBalanceTx."""
        return l1_wallet.increase_balance(platform_chain(), payer, now=clock.now(), **terms)


class DisablingStep(StepForm):
    """The deactivation of a validator."""

    title = "Disable an L1 validator"
    explanation = "The validator's deactivation owner signs. The rest of the balance returns to its owner; the weight stays."

    validation_id = IDFormField("a validation ID", label="Validation")

    @override
    def do(self, payer: Payer, terms: dict[str, Any]) -> IssueResult:
        """Issue a DisableL1ValidatorTx."""
        return l1_wallet.disable_validator(platform_chain(), payer, now=clock.now(), **terms)


STEPS: Final[dict[str, type[StepForm]]] = {
    "subnet": SubnetStep,
    "blockchain": BlockchainStep,
    "convert": ConversionStep,
    "register": RegistrationStep,
    "weight": WeightStep,
    "balance": BalanceStep,
    "disable": DisablingStep,
}


def may_take_steps(request: HttpRequest) -> bool:
    """Return whether a user may open the pages of the steps: a superuser, or one who may change keystore users."""
    return isinstance(request.user, User) and request.user.has_perm(PERMISSION)


@sensitive_post_parameters("password")
def take_step(request: HttpRequest, name: str) -> HttpResponse:
    """Show the form of a step, or take the step.

    Values of the form may be in the query, such as `?validation_id=`.

    Raises:
        PermissionDenied: The user may not do that.
        Http404: There is no such step.
    """
    if not may_take_steps(request):
        raise PermissionDenied
    if name not in STEPS:
        raise Http404
    step = STEPS[name]
    form = step(request.POST) if request.method == "POST" else step(initial=request.GET.dict())
    if form.is_bound and form.is_valid():
        issued = _issued(form)
        if issued is not None:
            return _done(request, name, issued)
    context = {
        **admin.site.each_context(request),
        "title": step.title,
        "form": form,
        "step": step,
        "current": name,
        "steps": [(key, other.title) for key, other in STEPS.items()],
    }
    return TemplateResponse(request, "admin/l1_step.html", context)


def _issued(form: StepForm) -> IssueResult | None:
    terms = dict(form.cleaned_data)
    payer = Payer(terms.pop("username"), terms.pop("password"))
    try:
        return form.do(payer, terms)
    except _REFUSED as error:
        form.add_error(None, f"Refused: {error}")
        return None


def _done(request: HttpRequest, name: str, issued: IssueResult) -> HttpResponse:
    title = STEPS[name].title
    sentence = f"Transaction {issued.tx_id} is issued."
    log_action(request, ADDITION, title, sentence, key="")
    messages.success(
        request,
        format_html(
            '{}: {} <a class="underline" href="{}">Its page</a> exists when it is in a block.',
            title,
            sentence,
            links.tx_page(issued.tx_id),
        ),
    )
    return HttpResponseRedirect(reverse("admin_l1_step", args=[name]))
