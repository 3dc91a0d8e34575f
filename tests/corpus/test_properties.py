"""What holds for any name and any bytes."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from corpuscope.corpus.document import count_lines
from corpuscope.corpus.paths import MAX_COMPONENT_BYTES, distinguished, path_key, row_name, safe_path
from corpuscope.corpus.text import to_utf8

ANY_TEXT = st.text(st.characters(codec=None), max_size=400)


def is_safe(path: str) -> bool:
    parts = path.split("/")
    return (
        all(0 < len(p.encode()) <= MAX_COMPONENT_BYTES and p not in (".", "..") for p in parts)
        and not any(p.startswith("-") for p in parts)
        and not any(unicodedata.category(c) in ("Cc", "Cs") for c in path)
    )


@given(ANY_TEXT)
def test_every_name_becomes_a_safe_relative_path(name: str) -> None:
    assert is_safe(safe_path(name))


@given(ANY_TEXT, ANY_TEXT, st.one_of(st.none(), ANY_TEXT))
def test_every_row_gets_a_safe_path(docid: str, title: str, url: str | None) -> None:
    assert is_safe(row_name(docid, title, url))


@given(ANY_TEXT)
def test_a_safe_path_stays_as_it_is(name: str) -> None:
    assert safe_path(safe_path(name)) == safe_path(name)


@given(ANY_TEXT, st.lists(ANY_TEXT, min_size=2, max_size=4, unique=True))
def test_docids_tell_equal_paths_apart(name: str, docids: list[str]) -> None:
    paths = [distinguished(safe_path(name), docid) for docid in docids]
    assert all(map(is_safe, paths))
    assert len({path_key(path) for path in paths}) == len(docids)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=300))
def test_utf8_text_is_kept_byte_for_byte(text: str) -> None:
    data = text.encode()
    bom_or_magic = data.startswith(
        (b"\xef\xbb\xbf", b"PK\x03\x04", b"%PDF-", b"GIF8", b"ID3", b"RIFF", b"BZh", b"SQLite")
    )
    assert bom_or_magic or b"\x7fELF" in data or to_utf8(data) == (data, ())


@given(st.binary(max_size=400))
def test_what_is_taken_for_text_is_utf8_without_nul(data: bytes) -> None:
    converted = to_utf8(data)
    if converted is not None:
        converted[0].decode()
        assert b"\0" not in converted[0]


@given(st.text(st.characters(codec="utf-8"), min_size=20, max_size=200))
def test_utf16_with_a_mark_is_read_back(text: str) -> None:
    converted = to_utf8(text.encode("utf-16"))
    assert converted is not None
    assert converted[0].decode() == text.replace("\0", "\ufffd")


@given(st.text(st.sampled_from("ab\n\r\v\f\u2028\x85"), max_size=30))
def test_lines_are_counted_as_sed_counts_them(text: str) -> None:
    assert count_lines(text.encode()) == len(text.encode().split(b"\n")) - (text.endswith("\n") or not text)
