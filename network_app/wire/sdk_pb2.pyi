from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

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
