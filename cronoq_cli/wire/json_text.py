"""JSON for client and daemon: msgspec's fast reader and writer, and the standard library's for what those cannot say.

Only lone surrogates (bytes of the system that are no UTF-8) need the latter. The runner does without msgspec.
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

import msgspec


def dump_json(value: Any) -> bytes:
    """The value, which may hold structs, as JSON in UTF-8; lone surrogates are written as escapes."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _WRITER.encode(msgspec.to_builtins(value, str_keys=True)).encode("ascii")


def load_json(payload: bytes | bytearray) -> Any:
    """What the JSON says, in built-in types. Raises ValueError (also for NaN and the like) and RecursionError."""
    try:
        return _decode(payload)
    except msgspec.DecodeError:
        return _READER.decode(payload.decode("utf-8"))


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number here")


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large")
    return number


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode
_READER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_finite)
_WRITER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), check_circular=False)
