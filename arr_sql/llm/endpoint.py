"""Where a request may go. Two kinds of address exist and no value of this program can hold a third.

SiliconFlow's address is fixed. A loopback address must be written with its number: ``localhost`` is a name, and what
answers to a name is for the resolver and the hosts file to say, so it is refused. Nothing in a project's files is read
here (tests/llm/test_endpoint.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from arr_sql.errors import InputError

SILICONFLOW_URL = "https://api.siliconflow.cn/v1"
LOCAL_EXAMPLE = "http://127.0.0.1:11434/v1"
_LOCAL = re.compile(r"http://(127\.0\.0\.1|\[::1\]):([1-9][0-9]{0,4})/v1")


@dataclass(frozen=True)
class Endpoint:
    """The base address of an OpenAI-compatible server. Raises InputError for any but the allowed ones."""

    url: str

    def __post_init__(self) -> None:
        match = _LOCAL.fullmatch(self.url) if isinstance(self.url, str) else None
        if self.url != SILICONFLOW_URL and not (match and int(match[2]) <= 65_535):
            # The address itself is not repeated: people paste keys into it.
            raise InputError(
                f"That endpoint is not allowed. Allowed are {SILICONFLOW_URL} and a server on this machine, written with"
                f" its number: {LOCAL_EXAMPLE} or http://[::1]:11434/v1 (no name, no other path, nothing after /v1)."
            )

    @property
    def is_local(self) -> bool:
        """Is it a server on this machine?"""
        return self.url != SILICONFLOW_URL


SILICONFLOW = Endpoint(SILICONFLOW_URL)


def local_endpoint(text: str) -> Endpoint:
    """The loopback server that the operator names. Raises InputError for anything else, the remote address included."""
    made = Endpoint(text.strip())
    if not made.is_local:
        raise InputError(
            f"'{SILICONFLOW_URL}' is the default; leave the setting out, or name a server like {LOCAL_EXAMPLE}."
        )
    return made
