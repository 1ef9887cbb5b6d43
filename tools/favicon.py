"""Draw `ui/favicon.png`: a memory budget of four parts below its capacity mark, in the colours of the charts."""

import struct
import zlib
from pathlib import Path

SIZE = 64
TARGET = Path(__file__).resolve().parents[1] / "ui" / "favicon.png"
WHITE, BLUE, ORANGE, GREY, MARK = (255, 255, 255), (0, 114, 178), (230, 159, 0), (153, 153, 153), (31, 41, 51)
# (left, right, top, bottom, colour), in pixels
BARS = [
    (6, 34, 12, 26, BLUE),
    (34, 44, 12, 26, ORANGE),
    (44, 50, 12, 26, GREY),
    (6, 24, 36, 50, BLUE),
    (24, 32, 36, 50, ORANGE),
    (54, 58, 6, 58, MARK),
]


def colour(x: int, y: int) -> tuple[int, int, int]:
    """RGB of one pixel."""
    for left, right, top, bottom, rgb in BARS:
        if left <= x < right and top <= y < bottom:
            return rgb
    return WHITE


def chunk(kind: bytes, data: bytes) -> bytes:
    """One chunk of a PNG file: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png() -> bytes:
    """The picture as a PNG file with 8 bits a channel."""
    rows = b"".join(b"\0" + b"".join(bytes(colour(x, y)) for x in range(SIZE)) for y in range(SIZE))
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


if __name__ == "__main__":
    TARGET.write_bytes(png())
