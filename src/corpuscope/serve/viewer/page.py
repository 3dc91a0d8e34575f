"""The page: one script and one style sheet, put together from the files beside this one. Nothing is fetched from anywhere."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

SCRIPTS = (
    "dom.js", "format.js", "data.js", "table.js", "charts.js", "documents.js", "turns.js", "workspace.js", "trajectory.js", "questions.js",
    "runs.js", "keys.js", "main.js",
)  # fmt: skip
"""In an order in which each comes behind those it imports."""

_IMPORT = re.compile(r'^import (\{[^}]*\}) from "\./([\w.]+)";$', re.MULTILINE)
_EXPORTED = re.compile(r"^export (?:async )?(?:function|const)\*? (\w+)", re.MULTILINE)

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="referrer" content="no-referrer">
<title>corpuscope</title>
<link rel="icon" href="data:,">
<style>{style}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript; all of it is in the page itself.</noscript>
{data}<script>{script}</script>
</body>
</html>
"""


def page(data: Mapping[str, bytes] | None = None) -> str:
    """The page that asks the server that it came from, or one that has all `data` in itself: what is asked -> the answer.

    The script and the style are allowed by their hashes alone, so that nothing a document or a model wrote can run.
    """
    script, style = _script(), _style()
    policy = "; ".join([
        "default-src 'none'", f"script-src '{_hash(script)}'", f"style-src '{_hash(style)}'", "img-src data:",
        "connect-src 'none'" if data is not None else "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
    ])  # fmt: skip
    embedded = "".join(_embedded(data)) if data is not None else ""
    return _PAGE.format(policy=policy, style=style, script=script, data=embedded)


def _embedded(data: Mapping[str, bytes]) -> Iterable[str]:
    """Each answer compressed, in letters that mean nothing to a browser; the last lists what is asked."""
    for number, value in enumerate(data.values()):
        text = base64.b64encode(gzip.compress(value, 6)).decode()
        yield f'<script type="text/plain" id="answer-{number}">{text}</script>\n'
    asked = base64.b64encode(json.dumps(list(data)).encode()).decode()
    yield f'<script type="text/plain" id="answers">{asked}</script>\n'


@cache
def _script() -> str:
    """All of the script in one, as a page without modules takes it: each file a function that returns what it exports."""
    return "".join([_read("uplot/uPlot.iife.min.js"), '"use strict";\nconst files = {};\n', *map(_function, SCRIPTS)])


def _function(name: str) -> str:
    text = _read(name)
    body = _IMPORT.sub(r'const \1 = files["\2"];', text).replace("\nexport ", "\n")
    return f'files["{name}"] = (() => {{\n{body}\nreturn {{ {", ".join(_EXPORTED.findall(text))} }};\n}})();\n'


@cache
def _style() -> str:
    return _read("uplot/uPlot.min.css") + _read("style.css")


def _read(name: str) -> str:
    return (resources.files(__package__) / "static" / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
