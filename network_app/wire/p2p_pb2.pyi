from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EngineType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENGINE_TYPE_UNSPECIFIED: _ClassVar[EngineType]
    ENGINE_TYPE_DAG: _ClassVar[EngineType]
    ENGINE_TYPE_CHAIN: _ClassVar[EngineType]
ENGINE_TYPE_UNSPECIFIED: EngineType
ENGINE_TYPE_DAG: EngineType
ENGINE_TYPE_CHAIN: EngineType

class Message(_message.Message):
    __slots__ = ("compressed_zstd", "ping", "pong", "handshake", "peer_list", "get_peer_list", "get_state_summary_frontier", "state_summary_frontier", "get_accepted_state_summary", "accepted_state_summary", "get_accepted_frontier", "accepted_frontier", "get_accepted", "accepted", "get_ancestors", "ancestors", "get", "put", "push_query", "pull_query", "chits", "app_request", "app_response", "app_gossip", "app_error", "simplex")
    COMPRESSED_ZSTD_FIELD_NUMBER: _ClassVar[int]
    PING_FIELD_NUMBER: _ClassVar[int]
    PONG_FIELD_NUMBER: _ClassVar[int]
    HANDSHAKE_FIELD_NUMBER: _ClassVar[int]
    PEER_LIST_FIELD_NUMBER: _ClassVar[int]
    GET_PEER_LIST_FIELD_NUMBER: _ClassVar[int]
    GET_STATE_SUMMARY_FRONTIER_FIELD_NUMBER: _ClassVar[int]
    STATE_SUMMARY_FRONTIER_FIELD_NUMBER: _ClassVar[int]
    GET_ACCEPTED_STATE_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_STATE_SUMMARY_FIELD_NUMBER: _ClassVar[int]
    GET_ACCEPTED_FRONTIER_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FRONTIER_FIELD_NUMBER: _ClassVar[int]
    GET_ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_FIELD_NUMBER: _ClassVar[int]
    GET_ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    ANCESTORS_FIELD_NUMBER: _ClassVar[int]
    GET_FIELD_NUMBER: _ClassVar[int]
    PUT_FIELD_NUMBER: _ClassVar[int]
    PUSH_QUERY_FIELD_NUMBER: _ClassVar[int]
    PULL_QUERY_FIELD_NUMBER: _ClassVar[int]
    CHITS_FIELD_NUMBER: _ClassVar[int]
    APP_REQUEST_FIELD_NUMBER: _ClassVar[int]
    APP_RESPONSE_FIELD_NUMBER: _ClassVar[int]
    APP_GOSSIP_FIELD_NUMBER: _ClassVar[int]
    APP_ERROR_FIELD_NUMBER: _ClassVar[int]
    SIMPLEX_FIELD_NUMBER: _ClassVar[int]
    compressed_zstd: bytes
    ping: Ping
    pong: Pong
    handshake: Handshake
    peer_list: PeerList
    get_peer_list: GetPeerList
    get_state_summary_frontier: GetStateSummaryFrontier
    state_summary_frontier: StateSummaryFrontier
    get_accepted_state_summary: GetAcceptedStateSummary
    accepted_state_summary: AcceptedStateSummary
    get_accepted_frontier: GetAcceptedFrontier
    accepted_frontier: AcceptedFrontier
    get_accepted: GetAccepted
    accepted: Accepted
    get_ancestors: GetAncestors
    ancestors: Ancestors
    get: Get
    put: Put
    push_query: PushQuery
    pull_query: PullQuery
    chits: Chits
    app_request: AppRequest
    app_response: AppResponse
    app_gossip: AppGossip
    app_error: AppError
    simplex: Simplex
    def __init__(self, compressed_zstd: _Optional[bytes] = ..., ping: _Optional[_Union[Ping, _Mapping]] = ..., pong: _Optional[_Union[Pong, _Mapping]] = ..., handshake: _Optional[_Union[Handshake, _Mapping]] = ..., peer_list: _Optional[_Union[PeerList, _Mapping]] = ..., get_peer_list: _Optional[_Union[GetPeerList, _Mapping]] = ..., get_state_summary_frontier: _Optional[_Union[GetStateSummaryFrontier, _Mapping]] = ..., state_summary_frontier: _Optional[_Union[StateSummaryFrontier, _Mapping]] = ..., get_accepted_state_summary: _Optional[_Union[GetAcceptedStateSummary, _Mapping]] = ..., accepted_state_summary: _Optional[_Union[AcceptedStateSummary, _Mapping]] = ..., get_accepted_frontier: _Optional[_Union[GetAcceptedFrontier, _Mapping]] = ..., accepted_frontier: _Optional[_Union[AcceptedFrontier, _Mapping]] = ..., get_accepted: _Optional[_Union[GetAccepted, _Mapping]] = ..., accepted: _Optional[_Union[Accepted, _Mapping]] = ..., get_ancestors: _Optional[_Union[GetAncestors, _Mapping]] = ..., ancestors: _Optional[_Union[Ancestors, _Mapping]] = ..., get: _Optional[_Union[Get, _Mapping]] = ..., put: _Optional[_Union[Put, _Mapping]] = ..., push_query: _Optional[_Union[PushQuery, _Mapping]] = ..., pull_query: _Optional[_Union[PullQuery, _Mapping]] = ..., chits: _Optional[_Union[Chits, _Mapping]] = ..., app_request: _Optional[_Union[AppRequest, _Mapping]] = ..., app_response: _Optional[_Union[AppResponse, _Mapping]] = ..., app_gossip: _Optional[_Union[AppGossip, _Mapping]] = ..., app_error: _Optional[_Union[AppError, _Mapping]] = ..., simplex: _Optional[_Union[Simplex, _Mapping]] = ...) -> None: ...

class Ping(_message.Message):
    __slots__ = ("uptime",)
    UPTIME_FIELD_NUMBER: _ClassVar[int]
    uptime: int
    def __init__(self, uptime: _Optional[int] = ...) -> None: ...

class Pong(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Handshake(_message.Message):
    __slots__ = ("network_id", "my_time", "ip_addr", "ip_port", "upgrade_time", "ip_signing_time", "ip_node_id_sig", "tracked_subnets", "client", "supported_acps", "objected_acps", "known_peers", "ip_bls_sig", "all_subnets")
    NETWORK_ID_FIELD_NUMBER: _ClassVar[int]
    MY_TIME_FIELD_NUMBER: _ClassVar[int]
    IP_ADDR_FIELD_NUMBER: _ClassVar[int]
    IP_PORT_FIELD_NUMBER: _ClassVar[int]
    UPGRADE_TIME_FIELD_NUMBER: _ClassVar[int]
    IP_SIGNING_TIME_FIELD_NUMBER: _ClassVar[int]
    IP_NODE_ID_SIG_FIELD_NUMBER: _ClassVar[int]
    TRACKED_SUBNETS_FIELD_NUMBER: _ClassVar[int]
    CLIENT_FIELD_NUMBER: _ClassVar[int]
    SUPPORTED_ACPS_FIELD_NUMBER: _ClassVar[int]
    OBJECTED_ACPS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_PEERS_FIELD_NUMBER: _ClassVar[int]
    IP_BLS_SIG_FIELD_NUMBER: _ClassVar[int]
    ALL_SUBNETS_FIELD_NUMBER: _ClassVar[int]
    network_id: int
    my_time: int
    ip_addr: bytes
    ip_port: int
    upgrade_time: int
    ip_signing_time: int
    ip_node_id_sig: bytes
    tracked_subnets: _containers.RepeatedScalarFieldContainer[bytes]
    client: Client
    supported_acps: _containers.RepeatedScalarFieldContainer[int]
    objected_acps: _containers.RepeatedScalarFieldContainer[int]
    known_peers: BloomFilter
    ip_bls_sig: bytes
    all_subnets: bool
    def __init__(self, network_id: _Optional[int] = ..., my_time: _Optional[int] = ..., ip_addr: _Optional[bytes] = ..., ip_port: _Optional[int] = ..., upgrade_time: _Optional[int] = ..., ip_signing_time: _Optional[int] = ..., ip_node_id_sig: _Optional[bytes] = ..., tracked_subnets: _Optional[_Iterable[bytes]] = ..., client: _Optional[_Union[Client, _Mapping]] = ..., supported_acps: _Optional[_Iterable[int]] = ..., objected_acps: _Optional[_Iterable[int]] = ..., known_peers: _Optional[_Union[BloomFilter, _Mapping]] = ..., ip_bls_sig: _Optional[bytes] = ..., all_subnets: _Optional[bool] = ...) -> None: ...

class Client(_message.Message):
    __slots__ = ("name", "major", "minor", "patch")
    NAME_FIELD_NUMBER: _ClassVar[int]
    MAJOR_FIELD_NUMBER: _ClassVar[int]
    MINOR_FIELD_NUMBER: _ClassVar[int]
    PATCH_FIELD_NUMBER: _ClassVar[int]
    name: str
    major: int
    minor: int
    patch: int
    def __init__(self, name: _Optional[str] = ..., major: _Optional[int] = ..., minor: _Optional[int] = ..., patch: _Optional[int] = ...) -> None: ...

class BloomFilter(_message.Message):
    __slots__ = ("filter", "salt")
    FILTER_FIELD_NUMBER: _ClassVar[int]
    SALT_FIELD_NUMBER: _ClassVar[int]
    filter: bytes
    salt: bytes
    def __init__(self, filter: _Optional[bytes] = ..., salt: _Optional[bytes] = ...) -> None: ...

class GetPeerList(_message.Message):
    __slots__ = ("known_peers", "all_subnets")
    KNOWN_PEERS_FIELD_NUMBER: _ClassVar[int]
    ALL_SUBNETS_FIELD_NUMBER: _ClassVar[int]
    known_peers: BloomFilter
    all_subnets: bool
    def __init__(self, known_peers: _Optional[_Union[BloomFilter, _Mapping]] = ..., all_subnets: _Optional[bool] = ...) -> None: ...

class PeerList(_message.Message):
    __slots__ = ("claimed_ip_ports",)
    CLAIMED_IP_PORTS_FIELD_NUMBER: _ClassVar[int]
    claimed_ip_ports: _containers.RepeatedCompositeFieldContainer[ClaimedIpPort]
    def __init__(self, claimed_ip_ports: _Optional[_Iterable[_Union[ClaimedIpPort, _Mapping]]] = ...) -> None: ...

class ClaimedIpPort(_message.Message):
    __slots__ = ("x509_certificate", "ip_addr", "ip_port", "timestamp", "signature", "tx_id")
    X509_CERTIFICATE_FIELD_NUMBER: _ClassVar[int]
    IP_ADDR_FIELD_NUMBER: _ClassVar[int]
    IP_PORT_FIELD_NUMBER: _ClassVar[int]
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    TX_ID_FIELD_NUMBER: _ClassVar[int]
    x509_certificate: bytes
    ip_addr: bytes
    ip_port: int
    timestamp: int
    signature: bytes
    tx_id: bytes
    def __init__(self, x509_certificate: _Optional[bytes] = ..., ip_addr: _Optional[bytes] = ..., ip_port: _Optional[int] = ..., timestamp: _Optional[int] = ..., signature: _Optional[bytes] = ..., tx_id: _Optional[bytes] = ...) -> None: ...

class GetStateSummaryFrontier(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ...) -> None: ...

class StateSummaryFrontier(_message.Message):
    __slots__ = ("chain_id", "request_id", "summary")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    summary: bytes
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., summary: _Optional[bytes] = ...) -> None: ...

class GetAcceptedStateSummary(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline", "heights")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    HEIGHTS_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    heights: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ..., heights: _Optional[_Iterable[int]] = ...) -> None: ...

class AcceptedStateSummary(_message.Message):
    __slots__ = ("chain_id", "request_id", "summary_ids")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_IDS_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    summary_ids: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., summary_ids: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetAcceptedFrontier(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ...) -> None: ...

class AcceptedFrontier(_message.Message):
    __slots__ = ("chain_id", "request_id", "container_id")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    container_id: bytes
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., container_id: _Optional[bytes] = ...) -> None: ...

class GetAccepted(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline", "container_ids")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_IDS_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    container_ids: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ..., container_ids: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Accepted(_message.Message):
    __slots__ = ("chain_id", "request_id", "container_ids")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_IDS_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    container_ids: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., container_ids: _Optional[_Iterable[bytes]] = ...) -> None: ...

class GetAncestors(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline", "container_id", "engine_type")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    ENGINE_TYPE_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    container_id: bytes
    engine_type: EngineType
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ..., container_id: _Optional[bytes] = ..., engine_type: _Optional[_Union[EngineType, str]] = ...) -> None: ...

class Ancestors(_message.Message):
    __slots__ = ("chain_id", "request_id", "containers")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINERS_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    containers: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., containers: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Get(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline", "container_id")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    container_id: bytes
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ..., container_id: _Optional[bytes] = ...) -> None: ...

class Put(_message.Message):
    __slots__ = ("chain_id", "request_id", "container")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    container: bytes
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., container: _Optional[bytes] = ...) -> None: ...

class PushQuery(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline", "container", "requested_height")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    container: bytes
    requested_height: int
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ..., container: _Optional[bytes] = ..., requested_height: _Optional[int] = ...) -> None: ...

class PullQuery(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline", "container_id", "requested_height")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    CONTAINER_ID_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    container_id: bytes
    requested_height: int
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ..., container_id: _Optional[bytes] = ..., requested_height: _Optional[int] = ...) -> None: ...

class Chits(_message.Message):
    __slots__ = ("chain_id", "request_id", "preferred_id", "accepted_id", "preferred_id_at_height", "accepted_height")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_ID_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_ID_FIELD_NUMBER: _ClassVar[int]
    PREFERRED_ID_AT_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    ACCEPTED_HEIGHT_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    preferred_id: bytes
    accepted_id: bytes
    preferred_id_at_height: bytes
    accepted_height: int
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., preferred_id: _Optional[bytes] = ..., accepted_id: _Optional[bytes] = ..., preferred_id_at_height: _Optional[bytes] = ..., accepted_height: _Optional[int] = ...) -> None: ...

class AppRequest(_message.Message):
    __slots__ = ("chain_id", "request_id", "deadline", "app_bytes")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    DEADLINE_FIELD_NUMBER: _ClassVar[int]
    APP_BYTES_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    deadline: int
    app_bytes: bytes
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., deadline: _Optional[int] = ..., app_bytes: _Optional[bytes] = ...) -> None: ...

class AppResponse(_message.Message):
    __slots__ = ("chain_id", "request_id", "app_bytes")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    APP_BYTES_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    app_bytes: bytes
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., app_bytes: _Optional[bytes] = ...) -> None: ...

class AppError(_message.Message):
    __slots__ = ("chain_id", "request_id", "error_code", "error_message")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ERROR_CODE_FIELD_NUMBER: _ClassVar[int]
    ERROR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    request_id: int
    error_code: int
    error_message: str
    def __init__(self, chain_id: _Optional[bytes] = ..., request_id: _Optional[int] = ..., error_code: _Optional[int] = ..., error_message: _Optional[str] = ...) -> None: ...

class AppGossip(_message.Message):
    __slots__ = ("chain_id", "app_bytes")
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    APP_BYTES_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    app_bytes: bytes
    def __init__(self, chain_id: _Optional[bytes] = ..., app_bytes: _Optional[bytes] = ...) -> None: ...

class Simplex(_message.Message):
    __slots__ = ("chain_id",)
    CHAIN_ID_FIELD_NUMBER: _ClassVar[int]
    chain_id: bytes
    def __init__(self, chain_id: _Optional[bytes] = ...) -> None: ...
