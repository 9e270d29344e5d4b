"""Options of debug_trace*: accepted values and error messages as in go-ethereum."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.evm.tracing import Recording, StepOptions
from cchain_app.tracing.go_values import InvalidDuration, parse_duration
from cchain_app.tracing.options import (
    BadTraceConfig,
    CallConfig,
    Erc7562Config,
    FlatConfig,
    PrestateConfig,
    TraceConfig,
    TraceConfigReason,
    Tracer,
    UnreadableOptions,
    parse_trace_config,
)
from tests.builders.reasons import raises


@pytest.mark.parametrize("value", [None, {}, {"tracer": None, "timeout": None, "limit": None}])
def test_without_options_the_struct_logger_writes_stack_and_storage(value: object) -> None:
    config = parse_trace_config(value)
    assert config == TraceConfig()
    assert config.recording(9) == Recording(
        steps=StepOptions(stack=True, storage=True), most_bytes=9
    )


def test_options_of_the_struct_logger() -> None:
    config = parse_trace_config(
        {
            "enableMemory": True,
            "disableStack": True,
            "disableStorage": True,
            "enableReturnData": True,
            "limit": 5,
        }
    )
    assert config.steps == StepOptions(
        stack=False, memory=True, storage=False, return_data=True, limit=5
    )


def test_options_of_older_tools_are_ignored() -> None:
    given_by_tools = {"disableMemory": False, "fullStorage": True, "debug": 1, "reexec": 128}
    assert parse_trace_config(given_by_tools) == TraceConfig()


def test_member_names_match_without_regard_to_case() -> None:
    config = parse_trace_config({"TRACER": "callTracer", "tracerconfig": {"WITHLOG": True}})
    assert config.tracer == Tracer("callTracer", CallConfig(with_log=True))


@pytest.mark.parametrize(
    ("name", "config", "expected", "recording"),
    [
        ("callTracer", {"onlyTopCall": True}, CallConfig(only_top_call=True), {"frames"}),
        ("callTracer", None, CallConfig(), {"frames"}),
        (
            "flatCallTracer",
            {"convertParityErrors": True, "includePrecompiles": True},
            FlatConfig(convert_parity_errors=True, include_precompiles=True),
            {"frames"},
        ),
        (
            "prestateTracer",
            {"diffMode": True, "disableCode": True, "disableStorage": True, "includeEmpty": None},
            PrestateConfig(diff_mode=True, disable_code=True, disable_storage=True),
            {"state"},
        ),
        ("4byteTracer", "whatever", None, {"frames"}),
        ("noopTracer", 7, None, set()),
        ("keccak256PreimageTracer", None, None, {"preimages"}),
        ("erc7562Tracer", None, Erc7562Config(), {"frames", "preimages", "opcodes"}),
        (
            "erc7562Tracer",
            {"ignoredOpcodes": ["0x54", "0x1ff", ""], "withLog": True, "stackTopItemsSize": 1},
            Erc7562Config(with_log=True, ignored_opcodes=frozenset({0x54, 0xFF, 0x00})),
            {"frames", "preimages", "opcodes"},
        ),
        (
            "erc7562Tracer",
            {"IgnoredOpcodes": [], "stackTopItemsSize": None, "onlyTopCall": True},
            Erc7562Config(ignored_opcodes=frozenset()),
            {"frames", "preimages", "opcodes"},
        ),
    ],
)
def test_tracers_read_their_own_settings(
    name: str, config: object, expected: object, recording: set[str]
) -> None:
    found = parse_trace_config({"tracer": name, "tracerConfig": config})
    assert found.tracer == Tracer(name, expected)  # type: ignore[arg-type]
    assert found.recording() == Recording(**dict.fromkeys(recording, True))


def test_mux_tracer_combines_needs_of_its_tracers() -> None:
    config = parse_trace_config(
        {
            "tracer": "muxTracer",
            "tracerConfig": {
                "prestateTracer": {"diffMode": True},
                "callTracer": {"withLog": True},
                "muxTracer": {"keccak256PreimageTracer": None},
            },
        }
    )
    bundler = {"tracer": "muxTracer", "tracerConfig": {"erc7562Tracer": {}, "noopTracer": {}}}
    needs = Recording(frames=True, preimages=True, opcodes=True)
    assert parse_trace_config(bundler).recording() == needs
    assert config.tracer is not None
    assert [tracer.name for tracer in config.tracer.tracers] == [
        "callTracer",
        "muxTracer",
        "prestateTracer",
    ]
    assert config.recording() == Recording(frames=True, state=True, preimages=True)
    assert hash(config) == hash(parse_trace_config({"tracer": "muxTracer", "tracerConfig": {
        "muxTracer": {"keccak256PreimageTracer": None},
        "callTracer": {"withLog": True},
        "prestateTracer": {"diffMode": True},
    }}))  # fmt: skip


def nested_mux(depth: int) -> dict[str, Any]:
    config: dict[str, Any] = {"noopTracer": None}
    for _ in range(depth):
        config = {"muxTracer": config}
    return {"tracer": "muxTracer", "tracerConfig": config}


def test_a_mux_in_a_mux_is_read_to_a_certain_depth() -> None:
    assert parse_trace_config(nested_mux(3)).recording() == Recording()
    with raises(TraceConfigReason.TOO_MANY_MUXES, kind=BadTraceConfig):
        parse_trace_config(nested_mux(4))


STRUCT = "json: cannot unmarshal {} into Go struct field {} of type {}"


@pytest.mark.parametrize(
    ("value", "kind", "words"),
    [
        (
            "callTracer",
            UnreadableOptions,
            "json: cannot unmarshal string into Go value of type tracers.TraceConfig",
        ),
        (
            {"tracer": 1},
            UnreadableOptions,
            STRUCT.format("number", "TraceConfig.tracer", "string"),
        ),
        (
            {"enableMemory": "yes"},
            UnreadableOptions,
            STRUCT.format("string", "TraceConfig.enableMemory", "bool"),
        ),
        (
            {"limit": True},
            UnreadableOptions,
            STRUCT.format("bool", "TraceConfig.limit", "uint64"),
        ),
        (
            {"limit": 1.5},
            UnreadableOptions,
            STRUCT.format("number 1.5", "TraceConfig.limit", "uint64"),
        ),
        (
            {"reexec": -1},
            UnreadableOptions,
            STRUCT.format("number -1", "TraceConfig.reexec", "uint64"),
        ),
        (
            {"tracer": "callTracer", "tracerConfig": {"onlyTopCall": "yes"}},
            BadTraceConfig,
            STRUCT.format("string", "callTracerConfig.onlyTopCall", "bool"),
        ),
        (
            {"tracer": "flatCallTracer", "tracerConfig": []},
            BadTraceConfig,
            "json: cannot unmarshal array into Go value of type native.flatCallTracerConfig",
        ),
        (
            {"tracer": "erc7562Tracer", "tracerConfig": {"ignoredOpcodes": "0x54"}},
            BadTraceConfig,
            STRUCT.format("string", "erc7562TracerConfig.ignoredOpcodes", "[]hexutil.Uint64"),
        ),
        (
            {"tracer": "erc7562Tracer", "tracerConfig": {"ignoredOpcodes": [84]}},
            BadTraceConfig,
            STRUCT.format("non-string", "erc7562TracerConfig.ignoredOpcodes", "hexutil.Uint64"),
        ),
        (
            {"tracer": "erc7562Tracer", "tracerConfig": {"ignoredOpcodes": ["54"]}},
            BadTraceConfig,
            STRUCT.format(
                "hex string without 0x prefix",
                "erc7562TracerConfig.ignoredOpcodes",
                "hexutil.Uint64",
            ),
        ),
        (
            {"tracer": "erc7562Tracer", "tracerConfig": {"stackTopItemsSize": -1}},
            BadTraceConfig,
            STRUCT.format("number -1", "erc7562TracerConfig.stackTopItemsSize", "int"),
        ),
        (
            {"tracer": "muxTracer", "tracerConfig": 3},
            BadTraceConfig,
            "json: cannot unmarshal number into Go value of type map[string]json.RawMessage",
        ),
    ],
)
def test_malformed_options_are_refused_with_gos_messages(
    value: object, kind: type[BadTraceConfig], words: str
) -> None:
    with raises(TraceConfigReason.UNREADABLE, kind=kind) as caught:
        parse_trace_config(value)
    assert type(caught.value) is kind
    assert str(caught.value) == words


@pytest.mark.parametrize(
    ("value", "reason", "words"),
    [
        (
            {"tracer": "prestateTracer", "tracerConfig": {"diffMode": True, "includeEmpty": True}},
            TraceConfigReason.DIFF_WITH_EMPTY,
            "cannot use diffMode with includeEmpty",
        ),
        ({"timeout": "abc"}, TraceConfigReason.TIMEOUT, 'time: invalid duration "abc"'),
    ],
)
def test_contradictory_options_and_bad_durations_are_refused(
    value: object, reason: TraceConfigReason, words: str
) -> None:
    with raises(reason, kind=BadTraceConfig) as caught:
        parse_trace_config(value)
    assert str(caught.value) == words


@pytest.mark.parametrize("name", ["", "nosuch", "{result: function(){}}", "CallTracer"])
def test_an_unknown_tracer_is_reported_which_there_are(name: str) -> None:
    for options in ({"tracer": name}, {"tracer": "muxTracer", "tracerConfig": {name: {}}}):
        with raises(TraceConfigReason.TRACER_NOT_FOUND, kind=BadTraceConfig) as caught:
            parse_trace_config(options)
        assert str(caught.value).startswith(f"tracer not found: {name} (available: callTracer, ")
        assert str(caught.value).endswith(", erc7562Tracer; JavaScript is not supported)")


def test_a_program_is_not_repeated_in_whole() -> None:
    with raises(TraceConfigReason.TRACER_NOT_FOUND, kind=BadTraceConfig) as caught:
        parse_trace_config({"tracer": "{step: function() {}}" * 1000})
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5s", 5),
        ("1m30s", 90),
        ("500ms", 0.5),
        ("1.5h", 5400),
        ("-2s", -2),
        ("+2s", 2),
        ("0", 0),
        (".5s", 0.5),
        ("3us", 3e-6),
        ("3µs", 3e-6),
        ("4ns", 4e-9),
    ],
)
def test_durations_are_parsed_like_go(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)
    assert parse_trace_config({"timeout": text}).timeout == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 'time: invalid duration ""'),
        ("-", 'time: invalid duration "-"'),
        (".s", 'time: invalid duration ".s"'),
        ("5", 'time: missing unit in duration "5"'),
        ("1h5", 'time: missing unit in duration "1h5"'),
        ("5d", 'time: unknown unit "d" in duration "5d"'),
        ("9999999999h", 'time: invalid duration "9999999999h"'),
        ("9" * 5000 + "s", f'time: invalid duration "{"9" * 5000}s"'),
        ('"', 'time: invalid duration "\\""'),
    ],
)
def test_an_invalid_duration_is_refused(text: str, words: str) -> None:
    with pytest.raises(InvalidDuration) as caught:
        parse_duration(text)
    assert str(caught.value) == words


@given(st.text(alphabet="0123456789.+-hmsuµn", max_size=12))
def test_any_text_is_a_duration_or_refused(text: str) -> None:
    try:
        seconds = parse_duration(text)
    except InvalidDuration:
        return
    assert abs(seconds) <= 2**63 / 1e9


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["tracer", "tracerConfig", "callTracer", "muxTracer", "limit", "diffMode"]
            ),
            inner | st.sampled_from(["muxTracer", "prestateTracer"]),
            max_size=4,
        )
    ),
    max_leaves=8,
)


@given(anything)
def test_anything_is_read_or_refused(value: object) -> None:
    try:
        config = parse_trace_config(value)
    except BadTraceConfig:
        return
    hash(config)
    config.recording()
