"""`make demo`: index the documentation of Django 5.2.8 and ask it three questions that no single document answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(".demo")
DOCS = HERE / "django-5.2.8" / "docs"
CORPUS = HERE / "django.corpus"


@dataclass(frozen=True)
class DemoQuestion:
    """`gold` are the documents that hold the answer together."""

    text: str
    answer: str
    gold: tuple[str, ...]


QUESTIONS = (
    DemoQuestion(
        "The write-through session backend keeps sessions in the cache and the database. Which setting selects the "
        "cache it uses, and what is the default of that setting?",
        "SESSION_CACHE_ALIAS, 'default'",
        ("topics/http/sessions.txt", "ref/settings.txt"),
    ),
    DemoQuestion(
        "Django stores passwords by default with one particular hasher. To what iteration count did Django 5.2 raise it?",
        "1,000,000 (PBKDF2)",
        ("topics/auth/passwords.txt", "releases/5.2.txt"),
    ),
    DemoQuestion(
        "One middleware sets the Referrer-Policy header, its value given by a setting. In which Django release did "
        "that setting get the default value same-origin?",
        "3.1",
        ("ref/middleware.txt", "releases/3.1.txt"),
    ),
)


def main() -> None:
    get_documents()
    if "--documents-only" in sys.argv:
        return
    run("index", str(DOCS), "--into", str(CORPUS), "--include", "*.txt", "--include", "*.rst")
    run("structure", str(CORPUS), "--propose", "headings")
    runs = HERE / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    found = True
    for number, question in enumerate(QUESTIONS, 1):
        folder = runs / f"question-{number}"
        run("ask", str(CORPUS), question.text, "--run", str(folder))
        found &= compare(question, folder)
    if not found:
        sys.exit("demo: not every gold document was cited")
    print(f"\nTry your own: {Path(sys.executable).parent / 'corpuscope'} ask {CORPUS} 'your question'")


def get_documents() -> None:
    """The source package of Django from PyPI, whose `docs/` holds 641 texts."""
    if DOCS.is_dir():
        return
    HERE.mkdir(exist_ok=True)
    print("Downloading the documentation of Django 5.2.8 from PyPI ...", flush=True)
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*pip, "--dest", str(HERE), "django==5.2.8"], check=True)
    with tarfile.open(HERE / "django-5.2.8.tar.gz") as archive:
        archive.extractall(HERE / "unpacking", filter="data")
    (HERE / "unpacking" / "django-5.2.8").rename(HERE / "django-5.2.8")


def run(*arguments: str) -> None:
    shown = " ".join(argument if " " not in argument else f'"{argument}"' for argument in arguments)
    print(f"\n$ corpuscope {shown}", flush=True)
    done = subprocess.run([Path(sys.executable).parent / "corpuscope", *arguments], check=False)
    if done.returncode:
        sys.exit(done.returncode)


def compare(question: DemoQuestion, folder: Path) -> bool:
    """Print the known answer and whether its documents were cited; returns whether all of them were."""
    answer = json.loads(next(folder.glob("queries/*/answer.json")).read_text())["answer"]
    cited = {citation["path"] for citation in answer["citations"]}
    print(f"\nKnown answer: {question.answer}")
    for path in question.gold:
        print(f"  {'cited' if path in cited else 'NOT CITED'}: {path}")
    return cited.issuperset(question.gold)


if __name__ == "__main__":
    main()
