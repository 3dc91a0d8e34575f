"""What an agent is told between its turns when its means run out."""

from __future__ import annotations

from pydantic_ai.messages import ModelRequest

SUBMIT_NOW = """The time for this question is nearly used up, and the tools are closed from here on. Stop researching and submit \
your best answer right now, in exactly the form you were given."""
"""Sent once a share of the time is used up (Pi-Serini's reminder at 70%)."""

LAST_REPLY = """This is the last reply you can give: the budget of this question is used up, and no tool can be called any more. \
Answer now from what you have found, in exactly the form you were given; if you are not sure, give your best guess and say so in \
the confidence."""
"""Sent by a system that forces an answer."""

CLOSED = "the time for this question is nearly used up and the tools are closed; submit your final answer right now"
"""What a call brings back after `SUBMIT_NOW`."""

LAST_SECONDS = 120.0
"""For the one reply that is asked for beyond the budget."""


def steer(text: str) -> ModelRequest:
    """The message as it enters the history."""
    return ModelRequest.user_text_prompt(text)
