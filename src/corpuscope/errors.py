"""Who must act decides the class: a person (`CorpuscopeError`) or the model (`ToolError`).

Anything else that escapes is a bug of ours and is not caught anywhere.
"""


class CorpuscopeError(Exception):
    """A person must act. The message is the whole report: what is wrong and what to do, on one line."""

    exit_code = 1


class UsageError(CorpuscopeError):
    """The command, its arguments or its input are wrong."""

    exit_code = 2


class SetupError(CorpuscopeError):
    """The machine lacks something: a program, a package, a key, disk space, a kernel feature."""

    exit_code = 3


class Interrupted(CorpuscopeError):
    """A person stopped it. The message says how to go on."""

    exit_code = 130


class ToolError(Exception):
    """The model must act. The message goes back as the observation and says how to repair the call."""
