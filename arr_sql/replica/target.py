"""Where a copy may go: a folder, or a place in an S3-compatible store. Values in, values out; nothing is opened here.

A target holds no credential. Those of a store come from the environment, or from the file that it names, and are handed to
the engine there; a configuration holds none, so it can be shown, kept and sent. Plain http goes to this machine only.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from arr_sql.core.redaction import redact
from arr_sql.errors import InputError

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")
_S3 = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/([A-Za-z0-9!_.*'()/=+-]{1,900})")
_ENDPOINT = re.compile(
    r"https://[A-Za-z0-9.-]{1,253}(:[1-9][0-9]{0,4})?|http://(127\.0\.0\.1|\[::1\])(:[1-9][0-9]{0,4})?"
)
_REGION = re.compile(r"[a-z0-9-]{1,40}")

CREDENTIALS = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_SHARED_CREDENTIALS_FILE", "AWS_PROFILE",
    "LITESTREAM_ACCESS_KEY_ID", "LITESTREAM_SECRET_ACCESS_KEY",
)  # fmt: skip
_PAIRS = (CREDENTIALS[0:2], CREDENTIALS[5:7])
_ALWAYS = ("TMPDIR", "TEMP", "TMP", "SYSTEMROOT")
_TLS = ("SSL_CERT_FILE", "SSL_CERT_DIR")
SYNC_SECONDS = 1
"""How often the engine copies what is new. What a kill of the whole machine loses is about this much."""
BUSY_TIMEOUT_SECONDS = 5


@dataclass(frozen=True)
class Target:
    """A folder's absolute path or ``s3://bucket/path``; ``endpoint`` and ``region`` belong to a store that isn't AWS."""

    kind: Literal["folder", "s3"]
    text: str
    endpoint: str = ""
    region: str = ""

    def replica(self) -> dict[str, Any]:
        """The engine's own words for it."""
        if self.kind == "folder":
            return {"type": "file", "path": self.text}
        bucket, path = self.text.removeprefix("s3://").split("/", 1)
        made: dict[str, Any] = {"type": "s3", "bucket": bucket, "path": path}
        if self.region:
            made["region"] = self.region
        if self.endpoint:
            made |= {"endpoint": self.endpoint, "force-path-style": True}
        return made


def parse_target(text: str, endpoint: str | None = None, region: str | None = None) -> Target:
    """The target that a person names. Raises InputError; a message repeats no address, people paste keys into them."""
    if redact(text) != text:  # it would stand in the audit log for good
        raise InputError(
            "That target looks as if it held a credential. Keys come from the environment; name a place without one."
        )
    scheme = _SCHEME.match(text)
    if scheme is None:
        if endpoint or region:
            raise InputError("--endpoint and --region belong to a store. A folder needs neither.")
        if not text.strip() or "\x00" in text:
            raise InputError("That is no folder. Name one, or a store like s3://bucket/path.")
        return Target("folder", str(Path(text).expanduser().resolve()))
    match = _S3.fullmatch(text)
    if match is None or "//" in match[2] or match[2].endswith("/") or ".." in match[2].split("/"):
        raise InputError(
            "That target is not allowed. Allowed are a folder and s3://BUCKET/PATH: the bucket 3 to 63 small letters, digits,"
            " dots and hyphens, the path without '//', '..' and a '/' at its end. Keys are not in it: those come from the"
            " environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_SHARED_CREDENTIALS_FILE)."
        )
    if endpoint and _ENDPOINT.fullmatch(endpoint.rstrip("/")) is None:
        raise InputError(
            "That endpoint is not allowed: https://HOST[:PORT], or on this machine http://127.0.0.1:PORT or http://[::1]:PORT."
            " Plain http would send the whole file readable over the network."
        )
    if region and _REGION.fullmatch(region) is None:
        raise InputError("That is no region. It looks like eu-central-1.")
    # A store of one's own signs with some region; any will do as long as both sides name the same.
    return Target("s3", text, (endpoint or "").rstrip("/"), region or ("us-east-1" if endpoint else ""))


def engine_environment(target: Target, environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """What the engine gets of ``environment`` (default: this process's): a temporary folder, and for a store its keys.

    No proxy, no home, and no question to a cloud machine's own address for keys. Raises InputError when a store's keys are
    missing.
    """
    values = os.environ if environment is None else environment
    made = {name: values[name] for name in _ALWAYS if values.get(name)}
    if target.kind == "folder":
        return made
    found = {name: values[name] for name in CREDENTIALS if values.get(name)}
    if not any(all(name in found for name in pair) for pair in _PAIRS) and "AWS_SHARED_CREDENTIALS_FILE" not in found:
        raise InputError(
            f"The keys of {target.text} are not in the environment. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or"
            " AWS_SHARED_CREDENTIALS_FILE (and AWS_PROFILE) to a file that holds them."
        )
    named = found.get("AWS_SHARED_CREDENTIALS_FILE")
    if named is not None and not Path(named).is_file():
        raise InputError("AWS_SHARED_CREDENTIALS_FILE names a file that is not there.")
    tls = {name: values[name] for name in _TLS if values.get(name)}
    return {**made, **found, **tls, "AWS_EC2_METADATA_DISABLED": "true"}


def engine_config(database: Path, target: Target, *, keep_days: int = 7) -> str:
    """The engine's configuration as JSON, which is YAML too. Holds no credential.

    A dollar sign is written as an escape, so that the engine's expansion of variables, on or off, leaves paths alone.
    """
    value = {
        "logging": {"level": "debug", "type": "json", "stderr": True},
        "snapshot": {"interval": "24h", "retention": f"{24 * keep_days}h"},
        "dbs": [
            {
                "path": str(database), "busy-timeout": f"{BUSY_TIMEOUT_SECONDS}s",
                "replica": {**target.replica(), "sync-interval": f"{SYNC_SECONDS}s"},
            }
        ],
    }  # fmt: skip
    return json.dumps(value, indent=2).replace("$", "\\u0024") + "\n"
