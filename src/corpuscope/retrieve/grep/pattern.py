"""From a regular expression to the literals that every match of it holds.

Four dialects are read: Rust's (ripgrep), PCRE2 (`rg -P`, `grep -P`), and POSIX extended and basic with GNU's additions
(`grep -E`, `grep`). What is not understood raises `Unreadable`: the real program then reads everything, and says itself
what is wrong with the expression. Letter case plays no part: literals and index are folded alike.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import Literal

from .grams import SHORTEST, fold

Dialect = Literal["rust", "pcre", "extended", "basic"]

MAX_STRINGS = 64
"""Alternatives followed at one place of an expression; where there are more, that place tells nothing."""

MAX_LITERAL = 64
"""Folded bytes looked for as one; of a longer literal each stretch of this length is."""

MAX_RUN = 256
"""Characters of a string that is followed through an expression."""

MAX_PATTERN = 4_000
"""Characters of an expression that are worth reading."""

_MAX_DEPTH = 50
_MAX_COPIES = 16


class Unreadable(Exception):
    """An expression that this module does not read; nobody sees it but the caller, who passes it on whole."""


@dataclass(frozen=True, slots=True)
class Holds:
    """The document holds this literal: folded bytes, 3 to 64 of them."""

    literal: bytes


@dataclass(frozen=True, slots=True)
class Every:
    """All of these are so; nothing at all is asked where there are none."""

    needs: tuple[Need, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """One of these is so."""

    needs: tuple[Need, ...]


Need = Holds | Every | Some
NOTHING = Every(())
"""Any document may match."""


def need_of(pattern: str, dialect: Dialect) -> Need:
    """What a document must hold to match `pattern`. Raises `Unreadable`."""
    if len(pattern) > MAX_PATTERN:
        raise Unreadable("long")
    reader = _Reader(pattern, dialect)
    found = reader.alternation(0)
    if not reader.at_end:
        raise Unreadable("a parenthesis too many")
    return found.need


def need_of_literal(text: str) -> Need:
    """What a document must hold to contain `text`. Raises `Unreadable`."""
    if len(text) > MAX_PATTERN:
        raise Unreadable("long")
    return _chain([_one(_letter(char)) for char in text]).need


def literals(need: Need) -> int:
    """How many are asked for, which is what answering costs."""
    return 1 if isinstance(need, Holds) else sum(map(literals, need.needs))


def one_of(needs: Iterable[Need]) -> Need:
    """Of several patterns one matches."""
    found = tuple(dict.fromkeys(needs))
    if NOTHING in found:
        return NOTHING
    return found[0] if len(found) == 1 else Some(found)


def all_of(needs: Iterable[Need]) -> Need:
    """Flat, and without what asks nothing."""
    flat: dict[Need, None] = {}
    for need in needs:
        flat.update(dict.fromkeys(need.needs if isinstance(need, Every) else (need,)))
    found = tuple(flat)
    return found[0] if len(found) == 1 else Every(found)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of an expression: the strings it stands for where they are few, else None; and what a match of it needs.

    One of `starts` stands at the beginning of every match and one of `ends` at its end, for what is beside it to join on.
    """

    strings: frozenset[str] | None
    need: Need
    starts: frozenset[str]
    ends: frozenset[str]


_EMPTY = frozenset({""})
_OPAQUE = _Piece(None, NOTHING, _EMPTY, _EMPTY)
_NOTHING = _Piece(_EMPTY, NOTHING, _EMPTY, _EMPTY)


def _one(strings: frozenset[str] | None) -> _Piece:
    return _OPAQUE if strings is None else _Piece(strings, _literals(strings), strings, strings)


def _literals(strings: frozenset[str]) -> Need:
    return one_of(_literal(fold(text)) for text in sorted(strings)) if strings else NOTHING


def _literal(folded: bytes) -> Need:
    if len(folded) < SHORTEST:
        return NOTHING
    step = MAX_LITERAL - SHORTEST
    starts = range(0, max(1, len(folded) - SHORTEST), step)
    return all_of(Holds(folded[start : start + MAX_LITERAL]) for start in starts)


def _chain(pieces: list[_Piece]) -> _Piece:
    """Pieces one behind the other. Strings run on over the seams as long as there are few."""
    running = _EMPTY
    starts: frozenset[str] | None = None
    needs: list[Need] = []
    for piece in pieces:
        joined = _joined(running, piece.starts)
        if piece.strings is not None and joined is not None:
            running = joined
            continue
        joined = running if joined is None else joined
        starts = joined if starts is None else starts
        needs += [_literals(joined), piece.need]
        running = piece.ends
    if starts is None:
        return _one(running)
    return _Piece(None, all_of([*needs, _literals(running)]), starts, running)


def _joined(left: frozenset[str], right: frozenset[str]) -> frozenset[str] | None:
    """The strings of two places behind one another; None where they are too many or too long to be followed."""
    if len(left) * len(right) > MAX_STRINGS or max(map(len, left)) + max(map(len, right)) > MAX_RUN:
        return None
    return frozenset(a + b for a, b in product(left, right))


def _repeated(piece: _Piece, least: int, most: int | None) -> _Piece:
    if least == 0:
        if most == 1 and piece.strings is not None and len(piece.strings) < MAX_STRINGS:
            return _one(piece.strings | _EMPTY)
        return _OPAQUE if most != 0 else _NOTHING
    if piece.strings == _EMPTY:
        return piece
    some = _chain([piece] * min(least, _MAX_COPIES))
    if least == most and least <= _MAX_COPIES:
        return some
    # More may follow: what every match begins with is known, and how it ends, not what it is.
    return _Piece(None, some.need, some.starts, piece.ends)


def _either(pieces: list[_Piece]) -> _Piece:
    if len(pieces) == 1:
        return pieces[0]
    strings: frozenset[str] = frozenset()
    for piece in pieces:
        if piece.strings is None or len(strings) + len(piece.strings) > MAX_STRINGS:
            return _Piece(None, one_of(piece.need for piece in pieces), _EMPTY, _EMPTY)
        strings |= piece.strings
    return _one(strings)


def _letter(char: str) -> frozenset[str] | None:
    """The character itself; None for one that may have a twin in the other case which Python's Unicode tables miss."""
    if char.isascii():
        return frozenset({char})
    category = unicodedata.category(char)
    paired = char.lower() != char or char.upper() != char or char.casefold() != char
    if category in ("Cn", "Cs", "Co") or (category in ("Ll", "Lu", "Lt") and not paired):
        return None
    return frozenset({char})


_ZERO_WIDTH = {"rust": "bBAz<>", "pcre": "bBAzZGK", "extended": "bB<>`'", "basic": "bB<>`'"}
_SETS = {"rust": "dDsSwWpP", "pcre": "dDsSwWhHvVNRX", "extended": "sSwW", "basic": "sSwW"}
_CONTROLS = {"rust": {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"},
             "pcre": {"a": "\a", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"},
             "extended": {}, "basic": {}}  # fmt: skip
_FLAGS = {
    "rust": re.compile(r"\?[imsuUR]*(?:-[imsuUR]+)?([:)])"),
    "pcre": re.compile(r"\?[imsUJ]*(?:-[imsUJ]+)?([:)])"),
}
_OPENED = {"rust": re.compile(r"\?P?<[A-Za-z_][A-Za-z0-9_.\[\]]*>"), "pcre": re.compile(r"\?(?:P?<\w+>|'\w+'|>|\|)")}
_LOOK = re.compile(r"\?<?[=!]")
_COUNT = re.compile(r"\{(\d+)?(,)?(\d+)?\}")


class _Reader:
    """Reads one expression from left to right."""

    def __init__(self, pattern: str, dialect: Dialect) -> None:
        self.text, self.dialect = pattern, dialect
        self.at = 0
        self.posix = dialect in ("extended", "basic")

    @property
    def at_end(self) -> bool:
        return self.at >= len(self.text)

    def alternation(self, depth: int) -> _Piece:
        if depth > _MAX_DEPTH:
            raise Unreadable("deep")
        branches: list[list[_Piece]] = [[]]
        while not self.at_end and not self._sees(")"):
            if self._takes("|"):
                branches.append([])
            else:
                branches[-1].append(self._counted(self._atom(depth)))
        return _either([_chain(branch) for branch in branches])

    def _operator(self, char: str) -> str:
        """How `char` is written where it is an operator: POSIX basic has most of them behind a backslash."""
        return f"\\{char}" if self.dialect == "basic" and char in "(){}|+?" else char

    def _sees(self, char: str) -> bool:
        return self.text.startswith(self._operator(char), self.at)

    def _takes(self, char: str) -> bool:
        if self._sees(char):
            self.at += len(self._operator(char))
            return True
        return False

    def _next(self) -> str:
        if self.at_end:
            raise Unreadable("cut off")
        self.at += 1
        return self.text[self.at - 1]

    def _counted(self, piece: _Piece) -> _Piece:
        """`piece` with the repetitions behind it."""
        while not self.at_end:
            if self._takes("*"):
                piece = _repeated(piece, 0, None)
            elif self._takes("+"):
                piece = _repeated(piece, 1, None)
            elif self._takes("?"):
                piece = _repeated(piece, 0, 1)
            elif self._sees("{"):
                piece = self._times(piece)
            else:
                break
            if not self.posix:
                self._takes("?")  # lazy
        return piece

    def _times(self, piece: _Piece) -> _Piece:
        text = self.text
        if self.dialect == "basic":
            end = text.find("\\}", self.at)
            found = _COUNT.fullmatch("{" + text[self.at + 2 : end] + "}") if end > 0 else None
            after = end + 2
        else:
            found = _COUNT.match(text, self.at)
            after = found.end() if found else 0
        if not found or not (found[1] or (found[2] and found[3] and self.dialect != "rust")):
            raise Unreadable("a brace that may be literal")
        self.at = after
        least = int(found[1] or 0)
        most = (int(found[3]) if found[3] else None) if found[2] else least
        return _repeated(piece, least, most)

    def _atom(self, depth: int) -> _Piece:
        if self._takes("("):
            return self._group(depth)
        char = self._next()
        if char == "\\":
            return self._escape()
        if char == "[":
            return self._bracket(depth)
        if char == ".":
            return _OPAQUE
        if char in "^$":
            # POSIX basic takes them for themselves in the middle: either way nothing is known of them.
            return _OPAQUE if self.dialect == "basic" else _NOTHING
        if char == "*" or (char in "+?{" and self.dialect != "basic"):
            raise Unreadable("nothing to repeat")
        return _one(_letter(char))

    def _group(self, depth: int) -> _Piece:
        if self.posix or not self._sees("?"):
            if self.text.startswith("*", self.at) and not self.posix:
                raise Unreadable("a PCRE verb")
            return self._inside(depth)
        if self.dialect == "pcre" and (look := _LOOK.match(self.text, self.at)):
            self.at = look.end()
            self._inside(depth)
            return _NOTHING
        if flags := _FLAGS[self.dialect].match(self.text, self.at):
            self.at = flags.end()
            return _NOTHING if flags[1] == ")" else self._inside(depth)
        if named := _OPENED[self.dialect].match(self.text, self.at):
            self.at = named.end()
            return self._inside(depth)
        raise Unreadable("a group of another kind")

    def _inside(self, depth: int) -> _Piece:
        found = self.alternation(depth + 1)
        if not self._takes(")"):
            raise Unreadable("a group that does not end")
        return found

    def _escape(self) -> _Piece:
        char = self._next()
        if char in _ZERO_WIDTH[self.dialect]:
            if char == "b" and self.dialect == "rust" and self.text.startswith("{", self.at):
                self._until("}")
            return _NOTHING
        if char in _SETS[self.dialect]:
            if char in "pP" or (char == "N" and self.text.startswith("{", self.at)):
                self._property()
            return _OPAQUE
        if char in _CONTROLS[self.dialect]:
            return _one(frozenset({_CONTROLS[self.dialect][char]}))
        if char in "123456789" and self.dialect != "rust":
            while self.dialect == "pcre" and not self.at_end and self.text[self.at].isdigit():
                self.at += 1
            return _OPAQUE
        if not self.posix and char in "xuU":
            return self._coded(char)
        if (char.isascii() and char.isalnum()) or (self.dialect == "basic" and char in "(){}|+?"):
            raise Unreadable("an escape of another kind")
        return _one(_letter(char))

    def _property(self) -> None:
        """\\pL, \\p{Greek}"""
        if self.text.startswith("{", self.at):
            self._until("}")
        else:
            self._next()

    def _coded(self, kind: str) -> _Piece:
        """\\x7F, \\x{10FFFF}, and in Rust's dialect \\u and \\U as well."""
        if kind != "x" and self.dialect == "pcre":
            raise Unreadable("an escape of another kind")
        if self.text.startswith("{", self.at):
            digits = self._until("}")[1:-1].strip()
        else:
            size = {"x": 2, "u": 4, "U": 8}[kind]
            digits = self.text[self.at : self.at + size]
            self.at += size
            if len(digits) != size:
                raise Unreadable("cut off")
        if not re.fullmatch("[0-9A-Fa-f]{1,8}", digits):
            raise Unreadable("not a number")
        code = int(digits, 16)
        return _one(frozenset({chr(code)})) if code < 0x80 else _OPAQUE  # beyond, it may mean a byte or a character

    def _until(self, char: str) -> str:
        end = self.text.find(char, self.at)
        if end < 0:
            raise Unreadable("cut off")
        found = self.text[self.at : end + 1]
        self.at = end + 1
        return found

    def _bracket(self, depth: int) -> _Piece:
        """A set of characters: [abc], [a-z], [^x], [[:digit:]], and in Rust's dialect sets within sets."""
        if depth > _MAX_DEPTH:
            raise Unreadable("deep")
        negated = self.text.startswith("^", self.at)
        self.at += negated
        members: list[str | None] = []
        while not (members and self.text.startswith("]", self.at)):
            members += self._members(depth, first=not members)
        self.at += 1
        letters = {_letter(char) if char else None for char in members}
        if negated or None in letters or len(letters) > MAX_STRINGS // 4:
            return _OPAQUE
        # One form of each is enough, for both cases fold into it.
        return _one(frozenset(fold(char).decode() for char in members if char))

    def _members(self, depth: int, *, first: bool) -> list[str | None]:
        """What stands next in a set: characters, or None for those that are too many."""
        start = self.at
        if self._inner_set(depth):
            return [None]
        char = self._member()
        if self.dialect == "rust" and char in ("&", "-", "~") and self.text.startswith(char, self.at):
            raise Unreadable("an operation on sets")
        rest = self.text[self.at : self.at + 2]
        if not rest.startswith("-") or rest == "-]" or (char == "-" and not first and start + 1 == self.at):
            return [char]
        self.at += 1
        last = None if self._inner_set(depth) else self._member()
        if char and last and char.isascii() and last.isascii() and 0 <= ord(last) - ord(char) < MAX_STRINGS // 4:
            return [chr(code) for code in range(ord(char), ord(last) + 1)]
        return [None]

    def _member(self) -> str | None:
        char = self._next()
        if char != "\\" or self.posix:
            return char
        char = self._next()
        if char in _CONTROLS[self.dialect]:
            return _CONTROLS[self.dialect][char]
        if not (char.isascii() and char.isalnum()):
            return char
        if char in "pP":
            self._property()
        elif char in "xuU":
            self._coded(char)
        elif char not in _SETS[self.dialect] and (char != "b" or self.dialect != "pcre"):
            raise Unreadable("an escape of another kind")
        return None

    def _inner_set(self, depth: int) -> bool:
        """Passes over [:alpha:], [.x.], [=x=], and a set within a set."""
        if not self.text.startswith("[", self.at):
            return False
        kind = self.text[self.at + 1 : self.at + 2]
        if kind in (":", ".", "="):
            end = self.text.find(f"{kind}]", self.at + 2)
            if end < 0:
                raise Unreadable("a class that does not end")
            self.at = end + 2
            return True
        if self.dialect != "rust":
            return False
        self.at += 1
        self._bracket(depth + 1)
        return True
