"""Options of `debug_trace*` as go-ethereum reads them: the tracer and its settings (tracing.md 2).

Names of members match regardless of case, unknown members are ignored, and a null member counts as absent.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple

from cchain_app.evm import opcodes
from cchain_app.evm.tracing import UNBOUNDED, Recording, StepOptions
from cchain_app.tracing.go_values import GoStruct, InvalidDuration, kind_of, parse_duration
from primitives.evm import Hash
from primitives.reasons import ErrorWithReason

CALL: Final = "callTracer"
FLAT_CALL: Final = "flatCallTracer"
PRESTATE: Final = "prestateTracer"
FOUR_BYTE: Final = "4byteTracer"
NOOP: Final = "noopTracer"
MUX: Final = "muxTracer"
KECCAK: Final = "keccak256PreimageTracer"
ERC7562: Final = "erc7562Tracer"

TRACERS: Final = (CALL, FLAT_CALL, PRESTATE, FOUR_BYTE, NOOP, MUX, KECCAK, ERC7562)

MAX_MUXES: Final = 4
"""Unspecified: most levels of nested muxTracers. go-ethereum has no limit."""

_SHOWN: Final = 64
"""Characters of a tracer's name that an error repeats, because the name may be a program."""


class TraceConfigReason(StrEnum):
    """Why the options of a trace are invalid. The messages are go-ethereum's."""

    # a member has a type that Go does not accept
    UNREADABLE = "{problem}"
    # "time: invalid duration …"
    TIMEOUT = "time: {problem}"
    # It may be a program in JavaScript, which is not supported.
    TRACER_NOT_FOUND = (
        "tracer not found: {name} (available: {tracers}; JavaScript is not supported)"
    )
    # prestateTracer cannot show empty accounts as a difference
    DIFF_WITH_EMPTY = "cannot use diffMode with includeEmpty"
    TOO_MANY_MUXES = "{tracer} nested more than {limit} deep"


class BadTraceConfig(ErrorWithReason):
    """Invalid options of a trace."""


class UnreadableOptions(BadTraceConfig):
    """A member outside the tracer's settings has the wrong type, so the parameter itself is invalid."""


class TraceContext(NamedTuple):
    """The position of the transaction; a call has none."""

    block_hash: Hash | None = None
    block_number: int = 0
    transaction_hash: Hash | None = None
    position: int = 0
    """Index in the block, from 0."""
    first_log: int = 0
    """Index in the block of its first log."""


class CallConfig(NamedTuple):
    """The options of callTracer."""

    only_top_call: bool = False
    with_log: bool = False


class FlatConfig(NamedTuple):
    """The options of flatCallTracer."""

    convert_parity_errors: bool = False
    include_precompiles: bool = False


class PrestateConfig(NamedTuple):
    """The options of prestateTracer."""

    diff_mode: bool = False
    disable_code: bool = False
    disable_storage: bool = False
    include_empty: bool = False


_IGNORED_NAMES: Final = "POP ADD SUB MUL DIV EQ LT GT SLT SGT SHL SHR AND OR NOT ISZERO"
IGNORED_OPCODES: Final = frozenset(
    {opcodes.OPCODES[name] for name in _IGNORED_NAMES.split()} | set(range(0x5F, 0xA0))
)
"""PUSH0 to SWAP16 and simple arithmetic, which erc7562Tracer does not count by default."""


class Erc7562Config(NamedTuple):
    """The options of erc7562Tracer."""

    with_log: bool = False
    ignored_opcodes: frozenset[int] = IGNORED_OPCODES
    """Instructions that are not counted. GAS is counted in any case."""


TracerConfig = CallConfig | FlatConfig | PrestateConfig | Erc7562Config


class Tracer(NamedTuple):
    """A tracer with its settings. Equal tracers give equal answers."""

    name: str
    config: TracerConfig | None = None
    """None for a tracer without settings."""
    tracers: tuple["Tracer", ...] = ()
    """The tracers of a muxTracer, by their names."""

    def recording(self) -> Recording:
        """Return the recording that it needs from an engine."""
        if self.name == MUX:
            needs = [tracer.recording() for tracer in self.tracers]
            return Recording(
                frames=any(need.frames for need in needs),
                state=any(need.state for need in needs),
                preimages=any(need.preimages for need in needs),
                opcodes=any(need.opcodes for need in needs),
            )
        return Recording(
            frames=self.name in {CALL, FLAT_CALL, FOUR_BYTE, ERC7562},
            state=self.name == PRESTATE,
            preimages=self.name in {KECCAK, ERC7562},
            opcodes=self.name == ERC7562,
        )


class TraceConfig(NamedTuple):
    """The options of a trace. Hashable; the time limit does not affect the answer."""

    tracer: Tracer | None = None
    """None for the struct logger."""
    steps: StepOptions = StepOptions()
    """The options of the struct logger."""
    timeout: float | None = None
    """Seconds for each transaction; None for the node's own limit."""

    def recording(self, most_bytes: int = UNBOUNDED) -> Recording:
        """Return the recording that it needs from an engine."""
        if self.tracer is None:
            return Recording(steps=self.steps, most_bytes=most_bytes)
        return self.tracer.recording()._replace(most_bytes=most_bytes)


def parse_trace_config(value: object) -> TraceConfig:
    """Read the options of a request: a JSON object, or None.

    Raises:
        BadTraceConfig: The options cannot be read or are invalid.
    """
    if value is None:
        return TraceConfig()
    options = GoStruct(value, "TraceConfig", "tracers.TraceConfig", _unreadable_options)
    timeout = options.text("timeout")
    name = options.text("tracer")
    steps = StepOptions(
        stack=not options.flag("disableStack"),
        memory=options.flag("enableMemory"),
        storage=not options.flag("disableStorage"),
        return_data=options.flag("enableReturnData"),
        limit=options.number("limit"),
    )
    options.number("reexec")
    return TraceConfig(
        tracer=None if name is None else _tracer(name, options.anything("tracerConfig"), MAX_MUXES),
        steps=steps if name is None else StepOptions(),
        timeout=None if timeout is None else _seconds(timeout),
    )


def tracer_not_found(name: str) -> BadTraceConfig:
    """Return the error for a name that no tracer has, with a short form of a long name."""
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}…"
    return BadTraceConfig(
        TraceConfigReason.TRACER_NOT_FOUND, name=shown, tracers=", ".join(TRACERS)
    )


def _seconds(text: str) -> float:
    try:
        return parse_duration(text)
    except InvalidDuration as error:
        raise BadTraceConfig(
            TraceConfigReason.TIMEOUT, problem=str(error).removeprefix("time: ")
        ) from error


def _tracer(name: str, config: object, muxes: int) -> Tracer:
    if name not in TRACERS:
        raise tracer_not_found(name)
    if name == MUX:
        return _mux({} if config is None else config, muxes)
    read = _CONFIGS.get(name)
    return Tracer(name, None if read is None else read({} if config is None else config))


def _mux(config: object, muxes: int) -> Tracer:
    if not muxes:
        raise BadTraceConfig(TraceConfigReason.TOO_MANY_MUXES, tracer=MUX, limit=MAX_MUXES)
    if not isinstance(config, dict):
        raise _unreadable_tracer_config(
            f"json: cannot unmarshal {kind_of(config)} into Go value of type "
            "map[string]json.RawMessage"
        )
    return Tracer(
        MUX, tracers=tuple(_tracer(name, config[name], muxes - 1) for name in sorted(config))
    )


def _call(config: object) -> CallConfig:
    options = _tracer_members(config, "callTracerConfig")
    return CallConfig(options.flag("onlyTopCall"), options.flag("withLog"))


def _flat(config: object) -> FlatConfig:
    options = _tracer_members(config, "flatCallTracerConfig")
    return FlatConfig(options.flag("convertParityErrors"), options.flag("includePrecompiles"))


def _prestate(config: object) -> PrestateConfig:
    options = _tracer_members(config, "prestateTracerConfig")
    prestate = PrestateConfig(
        diff_mode=options.flag("diffMode"),
        disable_code=options.flag("disableCode"),
        disable_storage=options.flag("disableStorage"),
        include_empty=options.flag("includeEmpty"),
    )
    if prestate.diff_mode and prestate.include_empty:
        raise BadTraceConfig(TraceConfigReason.DIFF_WITH_EMPTY)
    return prestate


def _erc7562(config: object) -> Erc7562Config:
    """Read the options of erc7562Tracer.

    Unspecified: `stackTopItemsSize` has no effect, as in go-ethereum, which only looks at the top item;
    a negative number, with which go-ethereum crashes, is rejected.
    """
    options = _tracer_members(config, "erc7562TracerConfig")
    options.number("stackTopItemsSize", "int")
    ignored = options.quantities("ignoredOpcodes")
    with_log = options.flag("withLog")
    if ignored is None:
        return Erc7562Config(with_log)
    return Erc7562Config(with_log, frozenset(opcode & 0xFF for opcode in ignored))


_CONFIGS: Final[Mapping[str, Callable[[object], TracerConfig]]] = {
    CALL: _call,
    FLAT_CALL: _flat,
    PRESTATE: _prestate,
    ERC7562: _erc7562,
}


def _tracer_members(config: object, struct: str) -> GoStruct:
    return GoStruct(config, struct, f"native.{struct}", _unreadable_tracer_config)


def _unreadable_options(problem: str) -> UnreadableOptions:
    return UnreadableOptions(TraceConfigReason.UNREADABLE, problem=problem)


def _unreadable_tracer_config(problem: str) -> BadTraceConfig:
    return BadTraceConfig(TraceConfigReason.UNREADABLE, problem=problem)
