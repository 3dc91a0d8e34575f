"""Bytes of any encoding to UTF-8 that grep can read, saying what was changed; binaries are told apart.

Text that is already UTF-8 without NUL bytes is kept byte for byte.
"""

from __future__ import annotations

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
)
_MAGIC = (
    b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"PK\x03\x04", b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x7fELF",
    b"%PDF-", b"OggS", b"ID3", b"RIFF", b"\xca\xfe\xba\xbe", b"SQLite format 3\x00", b"\x28\xb5\x2f\xfd",
)  # fmt: skip
_CONTROL = bytes(b for b in range(32) if b not in b"\t\n\v\f\r\x1b") + b"\x7f"
_SAMPLE = 1 << 16

MAX_CONTROL_SHARE = 0.05
"""A text may hold a few stray control bytes; a binary holds many."""

MIN_EVIDENCE = 8
"""Bytes above 0x7F below which one code page cannot be told from another."""


def to_utf8(data: bytes) -> tuple[bytes, tuple[str, ...]] | None:
    """`(utf-8 bytes, notes on what was altered)`, or None for a binary.

    The result holds no NUL byte, so that grep and ripgrep take it for text.
    """
    for bom, encoding, label in _BOMS:
        # The mark of UTF-32 is also that of UTF-16 before a NUL; few texts that are not UTF-32 decode as it.
        if data.startswith(bom) and (encoding != "utf-32" or _decodes(data, encoding)):
            return _finish(data.decode(encoding, "replace"), f"converted from {label}")
    if data.startswith(_MAGIC):
        return None
    if not _decodes(data, "utf-8"):
        return _from_legacy(data)
    if b"\0" not in data:
        return data, ()
    if utf16 := _bare_utf16(data):
        return _finish(data.decode(utf16, "replace"), "converted from UTF-16")
    return None if _control_share(data) > MAX_CONTROL_SHARE else _finish(data.decode())


def clean_text(text: str) -> tuple[bytes, tuple[str, ...]]:
    """Text that a source already decoded (a JSON string, a table cell), as `to_utf8` leaves it."""
    return _finish(text)


def _finish(text: str, *notes: str) -> tuple[bytes, tuple[str, ...]]:
    if "\0" in text:
        notes += (f"{text.count(chr(0))} NUL characters replaced by U+FFFD",)
        text = text.replace("\0", "\ufffd")
    lone = len(re.findall(r"[\ud800-\udfff]", text)) if not text.isascii() else 0
    if lone:
        notes += (f"{lone} lone surrogates replaced by U+FFFD",)
        text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
    return text.encode(), notes


def _decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def _control_share(data: bytes) -> float:
    sample = data[:_SAMPLE]
    return (len(sample) - len(sample.translate(None, _CONTROL))) / max(1, len(sample))


def _bare_utf16(data: bytes) -> str | None:
    """UTF-16 without a byte order mark: about every second byte of Western text is NUL, all on one side."""
    sample = data[: _SAMPLE & ~1]
    even, odd = sample[0::2].count(0), sample[1::2].count(0)
    half = max(1, len(sample) // 2)
    if odd > 0.3 * half and even < 0.02 * half:
        return "utf-16-le"
    if even > 0.3 * half and odd < 0.02 * half:
        return "utf-16-be"
    return None


def _from_legacy(data: bytes) -> tuple[bytes, tuple[str, ...]] | None:
    if b"\0" in data and (utf16 := _bare_utf16(data)):
        return _finish(data.decode(utf16, "replace"), "converted from UTF-16")
    if _control_share(data) > MAX_CONTROL_SHARE:
        return None
    mostly = data[:_SAMPLE].decode("utf-8", "replace")
    broken, multibyte = mostly.count("\ufffd"), len(re.findall(r"[^\x00-\x7f\ufffd]", mostly))
    if multibyte > broken or (not broken and len(data) > _SAMPLE):
        text = data.decode("utf-8", "replace")
        return _finish(text, f"{text.count(chr(0xFFFD))} invalid UTF-8 sequences replaced by U+FFFD")
    encoding = _guess(data[:_SAMPLE])
    text = data.decode(encoding, "replace")
    return _finish(text, f"converted from {encoding}")


def _guess(sample: bytes) -> str:
    """The legacy encoding of a text that is not UTF-8; Windows-1252 where too little speaks for another."""
    import charset_normalizer

    high = sum(byte > 0x7F for byte in sample)
    best = charset_normalizer.from_bytes(sample).best()
    if high < MIN_EVIDENCE or best is None or best.encoding in ("ascii", "utf_8"):
        return "windows-1252"
    return "windows-1252" if str(best) == sample.decode("windows-1252", "replace") else best.encoding
