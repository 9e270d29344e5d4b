from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable
from typing import ClassVar as _ClassVar, Optional as _Optional

DESCRIPTOR: _descriptor.FileDescriptor

class GenesisAnswer(_message.Message):
    __slots__ = ("platform", "cchain", "producers")
    PLATFORM_FIELD_NUMBER: _ClassVar[int]
    CCHAIN_FIELD_NUMBER: _ClassVar[int]
    PRODUCERS_FIELD_NUMBER: _ClassVar[int]
    platform: bytes
    cchain: bytes
    producers: _containers.RepeatedScalarFieldContainer[str]
    def __init__(self, platform: _Optional[bytes] = ..., cchain: _Optional[bytes] = ..., producers: _Optional[_Iterable[str]] = ...) -> None: ...
