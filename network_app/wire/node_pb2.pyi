from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class GenesisAnswer(_message.Message):
    __slots__ = ("platform", "cchain", "producer")
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    CCHAIN_FIELD_NUMBER: _ClassVar[int]
    PRODUCER_FIELD_NUMBER: _ClassVar[int]
    platform: bytes
    cchain: bytes
    producer: str
    def __init__(self, platform: _Optional[bytes] = ..., cchain: _Optional[bytes] = ..., producer: _Optional[str] = ...) -> None: ...
