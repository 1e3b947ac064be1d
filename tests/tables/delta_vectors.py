"""Write deletion vectors as a Delta log has them, for logs that tests write."""

from __future__ import annotations

import base64
import struct

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"


def encoded_vector(bitmap: bytes) -> str:
    """Return the identity of a vector inside the log, of a serialized 64-bit Roaring bitmap."""
    whole = struct.pack("<i", 1681511377) + bitmap
    return "i" + encoded_bytes(whole + b"\0" * (-len(whole) % 4))


def encoded_bytes(data: bytes) -> str:
    """Return a multiple of four bytes in Z85, as the log has them."""
    return base64.b85encode(data).decode().translate(str.maketrans(_B85, _Z85))
