"""A reader of XDF 1.0 that shares nothing with the writer: chunk by chunk, as the public specification has it."""

import struct
import xml.etree.ElementTree as ElementTree

import numpy as np

SIZES = {"float32": "f", "double64": "d", "int8": "b", "int16": "h", "int32": "i", "int64": "q"}


class Reading:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        part = self.data[self.at : self.at + count]
        assert len(part) == count
        self.at += count
        return part

    def unpack(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))

    def length(self):
        (kind,) = self.unpack("B")
        return self.unpack({1: "B", 4: "I", 8: "Q"}[kind])[0]


def read_xdf(file):
    """Streams by their number: name, header, stamps, values, offsets, footer."""
    reading = Reading(file.read_bytes())
    assert reading.take(4) == b"XDF:"
    streams, version = {}, None
    while reading.at < len(reading.data):
        chunk = Reading(reading.take(reading.length()))
        (tag,) = chunk.unpack("H")
        if tag == 1:
            version = ElementTree.fromstring(chunk.data[2:]).findtext("version")
        elif tag == 5:
            assert chunk.data[2:].hex() == "43a546dccbf5410fb30ed5467383cbe4"
        else:
            (number,) = chunk.unpack("I")
            _read_stream_chunk(tag, chunk, streams, number)
    assert version == "1.0"
    return streams


def _read_stream_chunk(tag, chunk, streams, number):
    if tag == 2:
        header = ElementTree.fromstring(chunk.data[6:])
        streams[number] = {"header": header, "name": header.findtext("name"), "stamps": [], "values": [], "offsets": []}
    elif tag == 3:
        _read_samples(chunk, streams[number])
    elif tag == 4:
        streams[number]["offsets"].append(chunk.unpack("dd"))
    elif tag == 6:
        streams[number]["footer"] = ElementTree.fromstring(chunk.data[6:])
    else:
        raise AssertionError(tag)


def _read_samples(chunk, stream):
    channels = int(stream["header"].findtext("channel_count"))
    kind = stream["header"].findtext("channel_format")
    for _ in range(chunk.length()):
        (stamped,) = chunk.unpack("B")
        assert stamped == 8
        stream["stamps"] += chunk.unpack("d")
        if kind == "string":
            stream["values"].append([chunk.take(chunk.length()).decode() for _ in range(channels)])
        else:
            stream["values"].append(np.array(chunk.unpack(channels * SIZES[kind])))
    assert chunk.at == len(chunk.data)
