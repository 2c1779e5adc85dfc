"""The messages and methods of RPC, by protobuf's descriptors: no file is generated."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from fluid.executor import DTYPES, NAMES, Array

SERVICE = "fluid.SendRecvService"
METHODS = {  # the request and the answer
    "SendVariable": ("VariableMessage", "VoidMessage"),
    "GetVariable": ("VariableMessage", "VariableMessage"),
    "Wait": ("VoidMessage", "VoidMessage"),
}
FIELDS = {
    "VariableMessage": "string:name int32:trainer int64:step string:dtype "
    "int64:rows int64:columns bytes:data",
    "VoidMessage": "int32:trainer int64:step",
}


def _make() -> dict[str, Any]:
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="fluid.proto", package="fluid", syntax="proto3")
    for name, fields in FIELDS.items():
        message = file.message_type.add(name=name)
        for number, field in enumerate(fields.split(), start=1):
            kind, _, word = field.partition(":")
            code = getattr(kinds, f"TYPE_{kind.upper()}")
            message.field.add(name=word, number=number, type=code, label=kinds.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"fluid.{name}"))
        for name in FIELDS
    }


MESSAGES = _make()
VariableMessage = MESSAGES["VariableMessage"]
VoidMessage = MESSAGES["VoidMessage"]


def packed(name: str, trainer: int, step: int, value: Array) -> Any:  # noqa: ANN401
    rows, columns = value.shape
    facts = {"name": name, "trainer": trainer, "step": step, "dtype": NAMES[value.dtype]}
    return VariableMessage(**facts, rows=rows, columns=columns, data=value.tobytes())


def unpacked(message: Any) -> Array:  # noqa: ANN401
    array: Array = np.frombuffer(message.data, DTYPES[message.dtype])
    return array.reshape(message.rows, message.columns)
