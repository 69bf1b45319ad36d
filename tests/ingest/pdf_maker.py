"""PDF files for tests, written by hand so that each byte is known: text at places, pages without text, encryption.

``make_pdf([[("Hello", 72, 700, 12)]])`` is one page with one line. With ``password`` the file is encrypted by the
standard security handler, revision 2 (40-bit RC4), as in PDF 1.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

Line = tuple[str, float, float, float]
_PAD = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")


def make_pdf(
    pages: Sequence[Sequence[Line]], *, info: Mapping[str, str] | None = None, password: str = "", rotate: int = 0,
    box: str = "0 0 612 792", content: bytes | None = None,
) -> bytes:  # fmt: skip
    """A whole PDF. A page without lines gets a filled rectangle, as a scan would have an image."""
    key, encrypt = _encryption(password) if password else (b"", b"")
    objects: list[bytes] = [
        b"",
        b"",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    kids: list[str] = []
    for lines in pages:
        stream = content if content is not None else _content(lines)
        number = len(objects) + 1
        stream = _rc4(_object_key(key, number), stream) if key else stream
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [{box}] /Rotate {rotate} /Contents {number} 0 R"
            " /Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        kids.append(f"{number + 1} 0 R")
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R >>"
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    number = len(objects) + 1
    objects.append(
        b"<< " + b" ".join(b"/%s %s" % (k.encode(), _string(v, key, number)) for k, v in (info or {}).items()) + b" >>"
    )
    trailer = f"/Root 1 0 R /Info {number} 0 R /Size {len(objects) + 1}".encode()
    if key:
        trailer += b" /ID [<" + b"00" * 16 + b"> <" + b"00" * 16 + b">] /Encrypt " + encrypt
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    offsets: list[int] = []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    out += b"trailer\n<< %s >>\nstartxref\n%d\n%%%%EOF\n" % (trailer, start)
    return bytes(out)


def _content(lines: Sequence[Line]) -> bytes:
    if not lines:
        return b"0.5 g 100 100 400 500 re f"
    parts = [b"BT /F1 %g Tf 1 0 0 1 %g %g Tm %s Tj ET" % (size, x, y, _literal(text)) for text, x, y, size in lines]
    return b"\n".join(parts)


def _literal(text: str) -> bytes:
    return b"(" + text.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)") + b")"


def _string(text: str, key: bytes, number: int) -> bytes:
    data = text.encode("latin-1") if text.isascii() else b"\xfe\xff" + text.encode("utf-16-be")
    if key:
        data = _rc4(_object_key(key, number), data)
    return b"<" + data.hex().encode() + b">"


def _encryption(password: str) -> tuple[bytes, bytes]:
    """The file key and the /Encrypt dictionary (algorithms 2, 3 and 4 of the PDF reference)."""
    padded = (password.encode("latin-1") + _PAD)[:32]
    owner = _rc4(hashlib.md5(padded).digest()[:5], padded)
    permissions = (-4).to_bytes(4, "little", signed=True)
    key = hashlib.md5(padded + owner + permissions + bytes(16)).digest()[:5]
    user = _rc4(key, _PAD)
    return key, b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P -4 >>" % (owner.hex().encode(), user.hex().encode())


def _object_key(key: bytes, number: int) -> bytes:
    return hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()[: len(key) + 5]


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
