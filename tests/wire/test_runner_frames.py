"""Frames between daemon and runner, whole or however they were cut on the way."""

from __future__ import annotations

import struct

import pytest

from cronoq_cli.errors import ProtocolError
from cronoq_cli.wire.json_text import load_json
from cronoq_cli.wire.runner import MAX_FRAME, Decoder, encode_frame, frame_body

MESSAGES = [{"order": "start", "token": "s:1:1", "argv": ["\udcff", "é"]}, {"order": "close"}]


@pytest.mark.parametrize("load", [None, load_json])
@pytest.mark.parametrize("step", [1, 3, 50, 10_000])
def test_messages_come_back_in_order_however_their_frames_are_cut(load, step: int) -> None:
    stream = encode_frame(MESSAGES) + encode_frame([]) + encode_frame(MESSAGES[:1])
    decoder = Decoder(load)
    told = [message for at in range(0, len(stream), step) for message in decoder.feed(stream[at : at + step])]
    assert told == [*MESSAGES, MESSAGES[0]]
    assert decoder.feed(encode_frame(MESSAGES)) == MESSAGES


@pytest.mark.parametrize("body", [b"", b"{}", b"[1]", b"[] []", b"[", b"nul", b"\xff", b"[" * 100_000])
@pytest.mark.parametrize("cut", [3, 10_000_000])
def test_what_is_no_list_of_objects_is_refused(body: bytes, cut: int) -> None:
    frame = frame_body(body)
    decoder = Decoder()
    with pytest.raises(ProtocolError):
        decoder.feed(frame[:cut])
        decoder.feed(frame[cut:])


def test_blanks_round_a_frame_of_another_version_are_no_matter() -> None:
    assert Decoder().feed(frame_body(b' [{"order": "close"}]\n')) == [{"order": "close"}]


def test_a_frame_that_is_too_long_is_refused_at_its_announcement() -> None:
    with pytest.raises(ProtocolError):
        Decoder().feed(struct.pack(">I", MAX_FRAME + 1))
