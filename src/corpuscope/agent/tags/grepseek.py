"""GrepSeek (github.com/alirezasalemi7/grepseek, inference/agent.py and tools.py): a dialogue of thoughts and shell commands, on
DCI's shell."""

import json
import re

from .grammar import INVALID, Action, Grammar, Told, numbered

CORPUS_FILE = "corpus.jsonl"
"""What the agent was trained to search: one file with a passage a line. Here it stands for the folder of documents."""

MAX_OUTPUT = 8_192
"""Characters: its 2,048 tokens, at four a token."""

_CALL = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_NOTES = re.compile(r"(?:^|\n)\[(?:cut|stopped|exit code|no output)\b[^\n]*\](?=\n\[|\Z)")
"""What our shell adds in brackets, and this agent gets in fields."""
_ANSWER = re.compile(r"<answer>\s*(.*?)\s*</answer>", re.DOTALL)


def _parse(text: str) -> Action:
    """Whichever block comes first."""
    called, answered = _CALL.search(text), _ANSWER.search(text)
    if answered and not (called and called.start() < answered.start()):
        return Action("", {}, answered[1].strip())
    try:
        call = json.loads(called[1]) if called else None
        command = call["arguments"]["command"].strip() if call and call["name"] == "shell" else ""
    except (ValueError, LookupError, TypeError, AttributeError):
        command = ""
    return Action("bash", {"command": on_folder(command)}) if command else Action(INVALID, {})


def on_folder(command: str) -> str:
    """The command with the folder in the place of the one file; grep, unlike rg, has to be told to go into it."""
    stages = command.split("|")
    for i, stage in enumerate(stages):
        if CORPUS_FILE in stage:
            stage = re.sub(r"^(\s*)grep\b", r"\1grep -r", stage)
            stages[i] = re.sub(rf"(\./)?{re.escape(CORPUS_FILE)}", ".", stage)
    return "|".join(stages)


def _tell(told: Told) -> str:
    if told.tool == INVALID:
        return _payload(
            "", "", "format error: no <tool_call> with name shell and a command, and no <answer>", -2, False
        )
    output = _NOTES.sub("", told.text)
    text = output[:MAX_OUTPUT]
    truncated = len(text) < len(output)
    if truncated:
        text += "\n[... output truncated]"
    timed_out = bool(told.data.get("stopped"))
    code = told.data.get("exit_code")
    return _payload(
        str(told.data.get("command", "")), text, "", -1 if code is None else int(code), timed_out, truncated
    )


def _payload(command: str, stdout: str, stderr: str, code: int, timed_out: bool, truncated: bool = False) -> str:
    values = {
        "command": command, "stdout": stdout, "stderr": stderr, "exit_code": code, "timed_out": timed_out,
        "truncated": truncated, "information_lines": [line for line in stdout.split("\n") if line.strip()],
    }  # fmt: skip
    return json.dumps(values, ensure_ascii=False)


GRAMMAR = Grammar(mode="dialogue", stop=(), parse=_parse, tell=_tell, show=numbered)
