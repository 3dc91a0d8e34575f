"""Commands as agents type them, made up from the words of documents, and their comparison with the programs themselves."""

from __future__ import annotations

import random
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpuscope.workspace import Workspace, execute

HOSTILE: dict[str, str | bytes] = {
    ".hidden/notes.md": "A Kelvin sign: 300 \N{KELVIN SIGN}elvin, a long s: Congre\u017f\u017f, Stra\u00dfe and STRASSE\n",
    ".gitignore": "*.log\n",
    "app.log": "error: needle in a log\nsecond line\n",
    "crlf.txt": "first needle\r\nsecond line\r\nthird needle\r\n",
    "empty.txt": "",
    "short.txt": "ab",
    "no newline.txt": "the last line has no end, and a needle",
    "turkish.txt": "\u0131stanbul, Istanbul, \u0130stanbul, DIYARBAKIR, d\u0131yarbak\u0131r\n",
    "greek.txt": "\u039f\u0394\u03a5\u03a3\u03a3\u0395\u03a5\u03a3 \u1f48\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03c2 \u03bf\u03b4\u03c5\u03c3\u03c3\u03b5\u03c5\u03c3\n",
    "russian/\u0432\u043e\u0439\u043d\u0430.txt": "\u0412\u043e\u0439\u043d\u0430 \u0438 \u041c\u0418\u0420, \u0432\u043e\u0439\u043d\u0430 \u0438 \u043c\u0438\u0440\n",
    "cjk.txt": "\u5317\u4eac\u5e02\u662f\u4e2d\u534e\u4eba\u6c11\u5171\u548c\u56fd\u9996\u90fd\u3002 \u6771\u4eac\u90fd \uc11c\uc6b8\ud2b9\ubcc4\uc2dc\n",
    "rtl.txt": "\u202e needle \u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645\n",
    "ansi.txt": "\x1b[31mred needle\x1b[0m \x1b]0;title\x07\n",
    "bom.txt": b"\xef\xbb\xbfneedle behind a byte order mark\n",
    "names/a b c.md": "needle in a name with spaces\n",
    "names/[brackets].md": "needle in brackets\n",
    "names/star*.md": "needle with a star\n",
    "names/{a,b}.md": "needle in braces\n",
    "names/UPPER.MD": "Needle, NEEDLE, needle\n",
    "deep/" + "/".join(f"level{n}" for n in range(12)) + "/end.txt": "needle at the bottom\n",
    "line.json": '{"text": "' + "lorem ipsum dolor " * 60_000 + 'needle-at-the-end"}\n',
    "long.txt": "".join(f"line {n} of a long document, {n * n % 9973} and {n * 7919 % 10007}\n" for n in range(20_000)),
    "straddling.txt": "x" * 39_950 + "NeedleAcrossTheSeamOfTwoPieces" + "y" * 60_000 + "\n",
    "repeated.txt": "aaaa aaab abab abcabc foobar foobaz foo.bar foo+bar (foo) [foo] {foo} foo|bar foo\\bar $foo ^foo\n" * 3,
}  # fmt: skip
"""Documents that have broken searchers: by their letters, their lengths, their line ends and their names."""


@dataclass(frozen=True)
class Search:
    """A command line, and the folder of W it is typed in. `ordered` where the programs promise an order of files."""

    command: str
    folder: str
    ordered: bool


def searches(words: Sequence[str], folders: Sequence[str], count: int, seed: int) -> list[Search]:
    """So many commands from `words` and `folders` of the documents, the same for the same seed."""
    chance = random.Random(seed)
    return [
        _rg(chance, words, folders) if chance.random() < 0.75 else _grep(chance, words, folders) for _ in range(count)
    ]


def words_of(texts: Iterable[str]) -> list[str]:
    return sorted({word for text in texts for word in re.findall(r"\w{2,20}", text)})


def compared(workspace: Workspace, wanted: Sequence[Search], batch: int = 5) -> list[str]:
    """What the sandbox's rg and grep print or return otherwise than the programs themselves: one description each."""
    differences = []
    for start in range(0, len(wanted), batch):
        part = wanted[start : start + batch]
        lines = ['run() { (cd "/w/$2"; eval "$3") > /tmp/$1.out 2> /tmp/$1.err < /dev/null; echo $? > /tmp/$1.code; }']
        for number, search in enumerate(part):
            given = f"{shlex.quote(search.folder)} {shlex.quote(search.command)}"
            lines.append(f"run front{number} {given}")
            lines.append(f"PATH=/opt/corpuscope/real:/usr/bin:/bin run real{number} {given}")
        outcome = execute(workspace.sandbox, "\n".join(lines), 120)
        assert not outcome.stopped, (outcome.stopped, part)
        for number, search in enumerate(part):
            ours, real = (_results(workspace.scratch, f"{name}{number}", search) for name in ("front", "real"))
            if ours != real:
                differences.append(f"{search.folder!r}: {search.command}\n  ours {_short(ours)}\n  real {_short(real)}")
        execute(workspace.sandbox, "rm -r /tmp/*", 60)
    return differences


def _results(scratch: Path, name: str, search: Search) -> tuple[list[bytes], list[bytes], bytes]:
    out, err, code = ((scratch / f"{name}.{kind}").read_bytes() for kind in ("out", "err", "code"))
    lines = out.split(b"\n") if search.ordered else out.replace(b"\0", b"\n").split(b"\n")
    # Shells name the line of a script in their own messages, of which there are none here.
    return (lines if search.ordered else sorted(lines)), sorted(err.split(b"\n")), code


def _short(results: tuple[list[bytes], list[bytes], bytes]) -> str:
    out, err, code = results
    return f"{len(out)} lines {out[:3]!r:.300} err {err!r:.200} code {code!r}"


def _pattern(chance: random.Random, words: Sequence[str], dialect: str) -> str:
    def word() -> str:
        return chance.choice(words)

    a, b, c = word(), word(), word()
    some = a[: max(2, len(a) // 2)]
    made = [
        a, a, a, f"{a} {b}", a.upper(), a.capitalize(), a[1:], some, f"{a}.*{b}", "needle", "Needle", "needle.*line",
        f"^{a}", f"{a}$", f"[{a[0].upper()}{a[0].lower()}]{re.escape(a[1:])}", f"{some}[a-z]*", f"{some}.", "lev[e]l[0-9]", "foo.bar",
        "\u212aelvin", "kelvin", "congress", "stra\u00dfe", "strasse", "\u0432\u043e\u0439\u043d\u0430", "\u5317\u4eac", "\u4eac", "istanbul", "\u03bf\u03b4\u03c5\u03c3\u03c3\u03b5\u03c5\u03c3",
        "NeedleAcrossTheSeam", "12345|9973", "line 1999[0-9]", "no such words at all", "", ".", "[0-9]{4}-[0-9]{2}",
    ]  # fmt: skip
    extended = [
        f"{a}|{b}", f"({a}|{b}|{c})", f"({some}|{b})s?", f"{a}+", f"{a}?{b}", f"({a})?{b}", f"{some}{{2}}", "(foo|ba[rz]){1,2}",
        f"\\b{a}\\b", f"\\<{a}\\>", f"\\w+{some}", f"{a}\\s+{b}", f"{a}\\.{b}", "(abc)+", "a{3,}b", "(ab|cd)*needle", "x*needle+", "foo\\+bar", "foo\\|bar",
        "\\(foo\\)", "[[:upper:]]eedle", "[^a-z]eedle", "[]x]needle", "ne{1,2}d", "n(e(e(d(l(e))))))" , "(unclosed", "a{,3}needle", "[z-a]",
    ]  # fmt: skip
    rust = [
        f"(?i){a}",
        f"(?i:{some})ing",
        f"(?P<x>{a})",
        f"\\p{{Lu}}{a[1:]}",
        "\\x6eeedle",
        f"{a}\\z",
        f"(?-u){a}",
        "[a-z&&[^b]]eedle",
        "\\d+ of a",
    ]
    pcre = [
        f"{a}(?= )",
        f"(?<=the ){a}",
        f"(?!{b}){a}",
        f"({some})\\1",
        "(?>foo)bar",
        f"{a}\\K.",
        "\\Qfoo.bar\\E",
        "(?x) n e e d l e",
        "foo(*SKIP)bar|needle",
        "ne++dle",
    ]
    choices = {
        "literal": [*made[:11], "foo.bar", "foo|bar", "$foo", "foo+bar"],
        "rust": made + extended + rust,
        "pcre": made + extended + pcre,
    }
    return chance.choice(choices.get(dialect, made + extended))


def _paths(chance: random.Random, folders: Sequence[str], folder: str) -> list[str]:
    inside = [path[len(folder) + 1 :] for path in folders if path.startswith(f"{folder}/")] if folder else list(folders)
    chosen = chance.choice(
        [
            [],
            [],
            [],
            [],
            ["."],
            ["./"],
            ["/w"],
            ["/w/"],
            ["sub"],
            ["sub/"],
            ["./sub"],
            ["sub", "sub"],
            [".", " ."],
            ["/w/names"],
            ["sub", "nosuch"],
            ["nosuch", "."],
            ["sub", "app.log"],
            ["sub", ""],
            [".//sub"],
            ["//w/sub"],
            ["nosuch"],
            ["app.log"],
            ["/w/app.log", "/w/names"],
            ["sub/../."],
            ["sub//"],
            [".."],
            ["../names"],
        ][: None if folder else -2]
    )
    return [path.replace("sub", chance.choice(inside) if inside else ".").strip() for path in chosen]


def _rg(chance: random.Random, words: Sequence[str], folders: Sequence[str]) -> Search:
    dialect = chance.choices(["rust", "literal", "pcre"], [6, 1, 1])[0]
    options = {"rust": [], "literal": [chance.choice(["-F", "--fixed-strings"])], "pcre": ["-P"]}[dialect]
    pool = [
        "-i", "-i", "-S", "-s", "-w", "-x", "-n", "-N", "-l", "-l", "-c", "-o", "-H", "-I", "-q", "-b", "-0", "-U", "-A2", "-B 1", "-C=1", "-A 1 -B 2",
        "--context 2", "-m 1", "-m2", "--max-count=3", "--column", "--vimgrep", "--heading", "--no-heading", "--color=always", "--color never",
        "--count-matches", "--files-with-matches", "--trim", "-M 80", "--max-columns=60 --max-columns-preview", "-r X", "--replace '[$0]'",
        "-g '*.txt'", "-g '*.md' -g '!names/*'", "-g '!*.txt'", "--glob='**/names/**'", "-g 'names/'", "-g '/app.log'", "-g '*.{md,log}'", "-g 're[lf]*'", "-g '[!a]*.txt'",
        "--iglob '*.MD'", "-g '!deep'", "-g 'level3/**'", "-g 'nosuch*'", "-t md", "-t txt", "-T md", "-tpy -tjson", "--type=markdown", "-t nosuchtype", "-g '*.json' -t md",
        "-d 1", "--max-depth 2", "--max-depth=0", "-u", "-uu", "-uuu", "--hidden", "-.", "--no-ignore", "-a", "--multiline-dotall -U", "--crlf", "--null-data", "-j2", "--threads 1",
        "-v", "--json", "--stats", "--files", "--files-without-match", "--include-zero -c", "--passthru", "--no-config", "--ignore", "--no-hidden", "--debug", "-z", "-E utf-8",
        "--sort modified", "--sortr path", "--type-add 'foo:*.foo' -tfoo", "--nosuchflag", "--max-filesize 1K", "--engine=auto", "--no-unicode", "--stop-on-nonmatch", "-p", "--no-messages",
    ]  # fmt: skip
    options += chance.sample(pool, chance.choice([0, 1, 1, 1, 2, 2, 3]))
    ordered = chance.random() < 0.5
    options += [chance.choice(["--sort path", "--sort=path"])] if ordered else []
    chance.shuffle(options)
    patterns = [_pattern(chance, words, dialect) for _ in range(chance.choice([1, 1, 1, 1, 2]))]
    quoted = [shlex.quote(pattern) for pattern in patterns]
    behind = chance.random() < 0.2
    folder = chance.choice(["", "", "", chance.choice(folders)])
    given = quoted if len(quoted) == 1 and not quoted[0].startswith("-") else [f"-e {pattern}" for pattern in quoted]
    paths = [shlex.quote(path) for path in _paths(chance, folders, folder)]
    command = ["rg", *([] if behind else options), *given, *paths, *(options if behind else [])]
    texts = " ".join(command)
    ordered = ordered and not any(
        word in texts for word in ("--sort modified", "--sortr", "--json", "--stats", "--debug", "--files ")
    )
    return Search(_steady(texts), folder, ordered)


def _grep(chance: random.Random, words: Sequence[str], folders: Sequence[str]) -> Search:
    dialect = chance.choices(["basic", "extended", "pcre", "literal"], [4, 3, 1, 1])[0]
    options = {"basic": [], "extended": ["-E"], "pcre": ["-P"], "literal": ["-F"]}[dialect]
    pool = [
        "-i", "-i", "-w", "-x", "-n", "-l", "-o", "-H", "-h", "-q", "-s", "-A1", "-B 2", "-C1", "-2", "-m1", "-Z", "-a", "-I", "-b", "-T", "--color=always",
        "--include='*.txt'", "--include '*.md'", "--exclude='*.md'", "--include='*.txt' --exclude='s*'", "--exclude-dir=names", "--exclude-dir='level*'", "--include='[a-c]*'",
        "-c", "-v", "-L", "--ignore-case", "--line-number", "--files-with-matches", "--no-messages", "--max-count=2", "--nosuchflag", "--binary-files=text", "-z",
    ]  # fmt: skip
    options += chance.sample(pool, chance.choice([0, 0, 1, 1, 2]))
    options.append(chance.choice(["-r", "-r", "-r", "-R", "--recursive", "-rn", "-rl", "-ril", ""]))
    chance.shuffle(options)
    pattern = shlex.quote(_pattern(chance, words, dialect))
    folder = chance.choice(["", "", chance.choice(folders)])
    paths = [shlex.quote(path) for path in _paths(chance, folders, folder)]
    pattern = pattern if not pattern.startswith("-") else f"-e {pattern}"
    return Search(" ".join(["grep", *filter(None, options), pattern, *paths]), folder, False)


def _steady(command: str) -> str:
    """Without the times that ripgrep prints, which differ with every run."""
    if "--stats" in command or "--debug" in command:
        return f"{command} 2> /dev/null | rg -v seconds"
    if "--json" in command:
        return f"{command} | sed -E 's/\"(secs|nanos|human)\":[^,}}]*//g'"
    return command
