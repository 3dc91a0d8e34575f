"""From whatever a source calls a document to a path that no shell, listing or file system chokes on.

A name stays as close to the original as is safe: spaces, dots and letters of every script remain; what
breaks inside double quotes, in a listing or on another file system becomes `_`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache
from urllib.parse import unquote, urlsplit

MAX_COMPONENT_BYTES = 200
"""Below the 255 bytes of ext4, APFS and NTFS, so that a suffix and a temporary name still fit."""

MAX_PATH_BYTES = 1000
"""Far below PATH_MAX (4096), so that a workspace can live deep in a tree."""

_UNSAFE = re.compile(
    r"""[\x00-\x1f\x7f-\x9f"'`$\\!:*?<>|/\ufffd\u2028\u2029\u200b-\u200f\u202a-\u202e\ud800-\udfff]+"""
)
_RESERVED = re.compile(r"^(con|prn|aux|nul|com\d|lpt\d)(\.|$)", re.IGNORECASE)


@lru_cache(maxsize=4096)
def safe_component(name: str) -> str:
    """One path component for `name`, at most `MAX_COMPONENT_BYTES` bytes, its extension kept."""
    name = _UNSAFE.sub("_", unicodedata.normalize("NFC", name)).strip()
    name = re.sub(r"^[-~]+", "_", name).rstrip(". ")
    if name in ("", ".", ".."):
        return "_"
    if _RESERVED.match(name):
        name = f"_{name}"
    if len(name.encode()) <= MAX_COMPONENT_BYTES:
        return name
    stem, dot, ext = name.rpartition(".")
    if not stem or len(ext.encode()) > 16:
        stem, dot, ext = name, "", ""
    room = MAX_COMPONENT_BYTES - len((dot + ext).encode())
    return stem.encode()[:room].decode(errors="ignore").rstrip(". ") + dot + ext


def safe_path(name: str) -> str:
    """A relative POSIX path for `name`, whose components are separated by `/`."""
    parts = [safe_component(part) for part in name.split("/") if part not in ("", ".")] or ["_"]
    while len("/".join(parts).encode()) > MAX_PATH_BYTES and len(parts) > 1:
        del parts[0]
    return "/".join(parts)


def path_key(path: str) -> str:
    """Equal for two paths that a case-folding or normalising file system would take for one."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def distinguished(path: str, docid: str) -> str:
    """`path` with a short hash of the docid before its extension: the same at every run, whatever the order."""
    folder, slash, name = path.rpartition("/")
    mark = "-" + hashlib.sha256(docid.encode(errors="surrogatepass")).hexdigest()[:8]
    stem, dot, ext = name.rpartition(".")
    if not stem:
        stem, dot, ext = name, "", ""
    stem = stem.encode()[: MAX_COMPONENT_BYTES - len((mark + dot + ext).encode())].decode(errors="ignore")
    return folder + slash + stem + mark + dot + ext


def row_name(docid: str, title: str, url: str | None) -> str:
    """The path a row of a table gets: `host/title.txt`, as in RISE's corpus, else `title.txt`, else `docid.txt`."""
    leaf = title.replace("/", "_") if title.strip(" .") else docid.replace("/", "_")
    host = ""
    if url:
        try:
            host = unquote(urlsplit(url).hostname or "")
        except ValueError:
            host = ""
    name = safe_component(leaf)
    stem = name.encode()[: MAX_COMPONENT_BYTES - 4].decode(errors="ignore").rstrip(". ")
    return (f"{safe_component(host)}/" if host else "") + f"{stem or '_'}.txt"
