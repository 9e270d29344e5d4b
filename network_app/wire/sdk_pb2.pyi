from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class PushGossip(_message.Message):
    __slots__ = ("gossip",)
    GOSSIP_FIELD_NUMBER: _ClassVar[int]
    gossip: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, gossip: _Optional[_Iterable[bytes]] = ...) -> None: ...

class PullGossipRequest(_message.Message):
    __slots__ = ("salt", "filter")
    SALT_FIELD_NUMBER: _ClassVar[int]
    FILTER_FIELD_NUMBER: _ClassVar[int]
    salt: bytes
    filter: bytes
    def __init__(self, salt: _Optional[bytes] = ..., filter: _Optional[bytes] = ...) -> None: ...

class PullGossipResponse(_message.Message):
    __slots__ = ("gossip",)
    GOSSIP_FIELD_NUMBER: _ClassVar[int]
    gossip: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, gossip: _Optional[_Iterable[bytes]] = ...) -> None: ...

class SignatureRequest(_message.Message):
    __slots__ = ("message", "justification")
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    JUSTIFICATION_FIELD_NUMBER: _ClassVar[int]
    message: bytes
    justification: bytes
    def __init__(self, message: _Optional[bytes] = ..., justification: _Optional[bytes] = ...) -> None: ...

class SignatureResponse(_message.Message):
    __slots__ = ("signature",)
    SIGNATURE_FIELD_NUMBER: _ClassVar[int]
    signature: bytes
    def __init__(self, signature: _Optional[bytes] = ...) -> None: ...

class L1ValidatorRegistrationJustification(_message.Message):
    __slots__ = ("convert_subnet_to_l1_tx_data", "register_l1_validator_message")
    CONVERT_SUBNET_TO_L1_TX_DATA_FIELD_NUMBER: _ClassVar[int]
    REGISTER_L1_VALIDATOR_MESSAGE_FIELD_NUMBER: _ClassVar[int]
    convert_subnet_to_l1_tx_data: SubnetIDIndex
    register_l1_validator_message: bytes
    def __init__(self, convert_subnet_to_l1_tx_data: _Optional[_Union[SubnetIDIndex, _Mapping]] = ..., register_l1_validator_message: _Optional[bytes] = ...) -> None: ...

class SubnetIDIndex(_message.Message):
    __slots__ = ("subnet_id", "index")
    SUBNET_ID_FIELD_NUMBER: _ClassVar[int]
    INDEX_FIELD_NUMBER: _ClassVar[int]
    subnet_id: bytes
    index: int
    def __init__(self, subnet_id: _Optional[bytes] = ..., index: _Optional[int] = ...) -> None: ...
