"""What is sent to the Hugging Face hub, by its own client.

Promises: names are checked before anything is sent, and whatever the hub or the network answers is one sentence.
Does not know: tokens. `hf auth login` keeps one, or the environment variable HF_TOKEN holds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from dard.core.errors import InputError

NAME = r"[\w.-]{1,96}/[\w.-]{1,96}"


def check_name(field: str, name: str) -> None:
    """
    >>> check_name("space", "nobody")
    Traceback (most recent call last):
    dard.core.errors.InputError: space = 'nobody' is not allowed; it must have the form owner/name
    """
    if not re.fullmatch(NAME, name, re.ASCII):
        raise InputError(f"{field} = {name[:200]!r} is not allowed; it must have the form owner/name")


@contextmanager
def sending(what: str) -> Iterator[None]:
    """Around calls of the hub's client: why `what` could not be uploaded, in its first line."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, HTTPError

    try:
        yield
    except (HfHubHTTPError, HFValidationError, HTTPError, OSError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"{what} could not be uploaded: {first[:300]}") from None
