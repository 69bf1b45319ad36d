"""What a credential looks like: known token shapes, and values that are assigned to a name that says "secret".

Two questions, kept apart. *Shapes* are credentials wherever they stand (``ghp_`` and 36 characters). *Values* count
only beside a name such as ``DB_PASSWORD`` or ``口令``, and only when they look like somebody's secret rather than
code, a placeholder or a word: a lock file's hashes, a commit id, ``token_count = 12345`` and
``password = getpass.getpass()`` must stay searchable.

Every expression here does a bounded amount of work at each place it can start, so a line of any length takes time
in proportion to its length (``tests/core/test_redaction_time.py``). No expression here holds a real credential.
"""

from __future__ import annotations

import base64
import binascii
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from arr_sql.core.later import pattern

Strength = Literal["password", "token"]

# --- shapes ----------------------------------------------------------------------------------------------------------

_EDGE = r"(?<![A-Za-z0-9])"
_SHAPES = (
    r"A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{16}(?![A-Za-z0-9])",  # AWS key id
    r"LTAI[A-Za-z0-9]{12,24}(?![A-Za-z0-9])",  # Alibaba Cloud
    r"AKID[A-Za-z0-9]{28,40}(?![A-Za-z0-9])",  # Tencent Cloud
    r"gh[pousr]_[A-Za-z0-9]{30,255}",  # GitHub
    r"github_pat_[A-Za-z0-9_]{22,255}",
    r"gl(?:pat|dt|rt|ptt|cbt|soat|ft|imt|agent)-[A-Za-z0-9_-]{20,255}",  # GitLab
    r"xox[a-z]-(?:[A-Za-z0-9]-)?[A-Za-z0-9]{4,64}-[A-Za-z0-9-]{8,255}",  # Slack
    r"xapp-[0-9]-[A-Za-z0-9]{6,64}-[A-Za-z0-9-]{8,255}",
    r"hooks\.slack\.com/services/T[A-Za-z0-9]{5,20}/B[A-Za-z0-9]{5,20}/[A-Za-z0-9]{16,40}",
    r"sk-[A-Za-z0-9]{32,255}(?![A-Za-z0-9])",  # OpenAI (old), SiliconFlow, DeepSeek
    r"sk-(?=[A-Za-z0-9_-]{0,80}[0-9])(?:[a-z]{2,8}[0-9]{0,3}-){0,3}[A-Za-z0-9_-]{20,255}",  # OpenAI, Anthropic, ...
    r"AIza[A-Za-z0-9_-]{35}",  # Google
    r"ya29\.[A-Za-z0-9_-]{20,255}",
    r"GOCSPX-[A-Za-z0-9_-]{20,64}",
    r"npm_[A-Za-z0-9]{36}",
    r"pypi-AgE[A-Za-z0-9_-]{16,255}",
    r"rubygems_[0-9a-f]{48}",
    r"dckr_pat_[A-Za-z0-9_-]{20,64}",
    r"hf_[A-Za-z0-9]{30,64}",
    r"(?:gsk|r8|nvapi|pplx|xai)[_-](?=[A-Za-z0-9_-]{0,64}[0-9])[A-Za-z0-9_-]{32,255}",  # model hosts
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,255}",  # Stripe
    r"whsec_[A-Za-z0-9+/]{24,64}",
    r"SG\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{16,64}",  # SendGrid
    r"dop_v1_[0-9a-f]{64}",
    r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    r"hvs\.[A-Za-z0-9_-]{24,255}",  # Vault
    r"tskey-[a-z]{2,12}-[A-Za-z0-9-]{16,100}",
    r"ATATT3[A-Za-z0-9_=-]{32,255}",
    r"AGE-SECRET-KEY-1[A-Z0-9]{40,80}",
    r"[0-9]{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])",  # Telegram bot
    r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,1000}",  # JWT
)
MASKED = pattern(r"[xX*]{6}|\.\.\.")  # ghp_xxxxxxxx in a manual
SHAPES = pattern(_EDGE + "(?:" + "|".join(_SHAPES) + ")")

USER_IN_URL = pattern(r"[A-Za-z][A-Za-z0-9+.-]{1,20}://([^\s/:@\"'<>`?#]{0,100}):([^\s/@\"'<>`]{1,200})@(?=[\w\[%${<])")
AUTH_HEADER = pattern(
    r"(?i:authorization)[\"'\]\\]{0,3}\s{0,4}[:=,]\s{0,4}[furbFURB]{0,2}\\?[\"'`]?"
    r"(?i:(bearer|basic|token|digest|apikey|negotiate)\s{1,4})([A-Za-z0-9+/_.=~:-]{6,4000})"
)
BEARER = pattern(r"(?<![A-Za-z0-9])(?i:bearer)\s{1,4}([A-Za-z0-9+/_.~-]{20,4000}=*)")
NETRC = pattern(r"(?i:\blogin\s{1,4}\S{1,100}\s{1,4}password\s{1,4})(\S{3,200})")
CURL_USER = pattern(r"(?:\bcurl\b[^\n]{0,200}?\s)(?:-u|--user)[ =]{1,2}[\"']?[^\s:\"']{1,64}:([^\s\"']{3,200})")
SQL_PASSWORD = pattern(r"(?i:\b(?:identified\s{1,4}by|with\s{1,4}password|password)\s{1,4})'([^'\n]{3,200})'")
FLAG = pattern(
    r"(?<![\w-])--?[a-z-]{0,24}(?:password|passwd|passphrase|secret|token|api-?key|pass|pwd)\s{1,2}[\"']?"
    r"([^\s\"'-][^\s\"']{5,200})"
)

PEM_BEGIN = pattern(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
PEM_END = pattern(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
# A line inside a key: base64 with what quoting, comments or a string literal put around it, or a header of the block.
PEM_INSIDE = pattern(
    r"[\s>#*|+\"'`/;,]{0,40}"
    r"(?:[A-Za-z0-9+/]{0,200}={0,2}|[A-Z][A-Za-z-]{2,30}: [^\n]{0,200})"
    r"[\\nr\"'`\s+,;)]{0,40}"
)

# --- names -----------------------------------------------------------------------------------------------------------

_HAN_NAMES = "密码|密碼|口令|密钥|金鑰|令牌"
_NAME = (
    r"(?:pass(?:word|wd|phrase|code)?|passw|pwd|pword|secret|token|api[_.-]?key"
    r"|(?:access|private|secret|account|master|sign(?:ing)?|encryption|shared)[_.-]?key"
    r"|auth(?:orization)?|credential)s?"
)
_GIVES = (
    r"(?:\s{0,8}(?:[=!]=|=>|:=|<-|[:=?：＝]=?)\s{0,16}"  # name = value, name: value, name => value, name == value
    r"|(?<=[\"'])\s{0,4},\s{0,4}(?=[\"'])"  # ("name", "value")
    r"|(?<=\w)>"  # <name>value</name>
    r"|(?<=[\"'])\s{1,4}(?i:value)\s{0,2}=\s{0,2})"  # name="..." value="..."
)
_OPEN = r"(?:[furbFURBL@]{0,2}\\{0,3}([\"'`])|)"
ASSIGNMENT = pattern(
    rf"(?:(?i:{_NAME})[\w-]{{0,40}}|(?:{_HAN_NAMES})[A-Za-z0-9_]{{0,8}})(?![\w-])"  # to the end of the name
    r"(?:\\{0,3}[\"'`]\]?|\])?"
    r"(?:\s{0,4}:\s{0,4}[A-Za-z_][\w.\[\]| ]{0,40}(?=\s{0,4}=[^=]))?" + _GIVES + _OPEN  # a Python annotation
)
# What every name above begins with, lower case, and what every assignment holds: searched for first, as that is quick.
NAME_STARTS = (
    "pass", "pwd", "pword", "secret", "token", "api", "access", "private", "account", "master", "sign", "encryption",
    "shared", "auth", "credential", *_HAN_NAMES.split("|"),
)  # fmt: skip
GIVES_SIGN = pattern(r"[=:?：＝>]|<-|[\"']\s{0,4},")
NAME_BEFORE = pattern(r"[\w.$-]{0,64}\Z")

# A name that ends in one of these is about a secret, it does not hold one.
_ABOUT = frozenset((
    "count", "counts", "counter", "length", "len", "size", "limit", "max", "min", "num", "number", "type", "types",
    "kind", "name", "names", "id", "ids", "uri", "url", "urls", "path", "paths", "file", "files", "filename", "dir",
    "directory", "folder", "field", "fields", "label", "header", "headers", "expiry", "expires", "expiration",
    "ttl", "age", "lifetime", "regex", "pattern", "policy", "method", "methods", "mode", "provider", "class", "cls",
    "format", "prompt", "hint", "placeholder", "model", "embedding", "embeddings", "index", "idx", "position",
    "pos", "start", "end", "offset", "status", "state", "version", "algorithm", "alg", "scheme", "strategy",
    "required", "enabled", "handler", "endpoint", "scope", "scopes", "error", "errors", "message", "msg", "reset",
    "column", "hash", "hashed", "digest", "fingerprint", "checksum", "usage", "budget", "ratio", "rate", "cost",
    "price", "list", "set", "map", "dict", "func", "function", "callback", "re", "rx", "input",
))  # fmt: skip
# Tokens that page, lock or repeat a request open nothing.
_HARMLESS = frozenset((
    "public", "next", "page", "pagination", "continuation", "lock", "change", "idempotency", "sync", "csrf", "eos",
    "bos",
))  # fmt: skip
_PASSWORD_WORDS = frozenset((
    "password", "passwords", "passwd", "pwd", "pass", "passphrase", "passcode", "pword", "passw",
))  # fmt: skip
_TOKEN_WORDS = frozenset(
    ("secret", "secrets", "token", "tokens", "apikey", "auth", "authorization", "credential", "credentials")
)
_KEY_BEFORE = frozenset(
    ("api", "access", "private", "secret", "account", "master", "signing", "sign", "encryption", "auth", "shared")
)
_GLUED = pattern(
    r"(password|passwd|passphrase|pwd)s?\d*\Z|(?:secret|apikey|accesskey|privatekey|secretkey|accountkey|authtoken|accesstoken"
    r"|apitoken|refreshtoken|token)\Z"
)
_WORD = pattern(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@lru_cache(maxsize=4_096)
def name_strength(name: str) -> Strength | None:
    """What the name of a variable, key or field says about its value. None: nothing secret."""
    if any(han in name for han in _HAN_NAMES.split("|")):
        return "password"
    words = [word.lower() for word in _WORD.findall(name)]
    while words and words[-1].isdigit():
        words.pop()
    if not words or words[-1] in _ABOUT or not _HARMLESS.isdisjoint(words):
        return None
    strength: Strength | None = None
    for place, word in enumerate(words):
        glued = _GLUED.search(word)
        if word in _PASSWORD_WORDS or (glued and glued[1]):
            return "password"
        if word in _TOKEN_WORDS or glued or (word == "key" and place and words[place - 1] in _KEY_BEFORE):
            strength = "token"
    return strength


# --- values ----------------------------------------------------------------------------------------------------------

_PLACEHOLDER = pattern(
    r"""(?ix) \A (?:
      change[_ -]?(?:me|it|this)\w* | replace[_ -]?\w* | your[_ -]?.* | insert.* | enter.*
    | my[_ -]?(?:secret|token|pass\w*|api[_ -]?key|key)\w*
    | none | null | nil | undefined | true | false | yes | no | todo | tbd | n/?a | unset | empty
    | redacted | hidden | masked
    | (?:the|a|an|some|any|test|dummy|fake|demo|sample|example|default|invalid|wrong|bad|good|valid
        |new|old|current|db|user|admin|root)?
      [_ -]?
      (?:pass|passwd|password|passphrase|pwd|pw|secret|token|credentials?|auth|api[_ -]?key|key|value|user|username)
      [_ -]?
      (?:here|123|1234)?
    | (?:test|dummy|fake|demo|sample|example|default|guest|admin|root|user|foo|bar|baz|foobar|spam|eggs|xyzzy
        |postgres|mysql|basic|bearer|digest|oauth2?|jwt|string|str|bytes|text|optional|required|secret|public
        |private|localhost)
      \d{0,3}
    | (.)\1* | [\W_]* | x{3,}.* | \*+.* | \.\.\..*
    ) \Z"""
)
_PLACEHOLDER_PART = pattern(
    r"(?i)example|placeholder|change_?me|redacted|withheld|xxxx|\*\*\*\*|\.\.\.|…|<[a-z][^>]*>|dummy|not[_-]?a[_-]?real|your[_-]"
)
_TEMPLATE = pattern(
    r"\$\{|\$\(|\{\{|\{%|#\{|\A\$\w+\Z|\A%\w+%\Z|\A@\w+@\Z|\A<.*>\Z"
    r"|\{[A-Za-z_]?[\w.\[\]!:' ]*\}|%\(\w+\)[sdr]|%[sdr](?!\w)"
)
_REGEX = pattern(r"\\[dDwWsSbBAZ]|\(\?|\[\^|\[[a-zA-Z0-9]-[a-zA-Z0-9]|\.[*+]|[\])][*+?{]|0-9a-z|a-zA-Z|A-Za-z")
_REFERENCE = pattern(
    r"(?i)\A(?:https?|ftp|file|vault|op|arn|urn|env|secret|ssm|keyring|ref|s3)[:/]|\A[.~]{0,2}/|\A[A-Z]:\\"
    r"|\.(?:py|js|ts|json|ya?ml|toml|txt|md|pem|key|crt|html?|css|env|ini|cfg|conf|xml|sh|go|rs|java|php|rb|c|h)\Z"
)
_DOTTED = pattern(r"[A-Za-z_$][\w$]*(?:(?:[?!]?\.|->|::)[A-Za-z_$][\w$]*)*\??!?")
_CODE = pattern(r"[()\[\]{}<>\\|`]")
_LETTER = pattern(r"[A-Za-z]")
_DIGIT = pattern(r"\d")
_PLAIN_WORDS = pattern(r"[A-Za-z]+(?:[ _./:-]+[A-Za-z]+)*[.:]?")
_SYMBOL = pattern(r"[!@#$%^&*+=?~|]")
_HASH = pattern(
    r"(?i)\A(?:sha\d{1,3}|md5|blake2[bs]?|pbkdf2\w*|bcrypt|scrypt|argon2\w*)[:$=-]"
    r"|\A\$2[aby]\$|\A\$argon2|\A\$[156]\$"
)
_WORDY_PIECES = pattern(r"[A-Za-z]+|\d+|[^A-Za-z\d]+")


def is_placeholder(value: str) -> bool:
    """``changeme``, ``<your token>``, ``${VAR}``, ``%s``, ``****``, ``user:password``: stands for a secret, is none."""
    return bool(_PLACEHOLDER.match(value) or _PLACEHOLDER_PART.search(value) or _TEMPLATE.search(value))


def looks_random(value: str) -> bool:
    """Letters and digits mixed the way generators mix them: nobody writes or reads such a value as words."""
    pieces = _WORDY_PIECES.findall(value[:400])
    letters = [piece for piece in pieces if piece[0].isalpha()]
    digits = [piece for piece in pieces if piece[0].isdigit()]
    if not letters or not digits or len(value) < 12 or len(set(value)) < 8:
        return False
    # Words with version numbers ("text-embedding-3-small") have few changes and long runs of letters.
    changes = sum(1 for one, two in pairwise(pieces) if one[0].isalnum() and two[0].isalnum())
    return changes * 8 >= len(value[:400]) or (changes >= 2 and len(value) >= 20)


def is_secret_value(value: str, strength: Strength, *, quoted: bool) -> bool:
    """Whether a literal assigned to a secret's name is somebody's secret. ``value`` comes without its quotes."""
    value = value.strip()
    if len(value) < 6 or not value.isascii() or (len(value) < 20 and value.isalpha()):
        return False
    letters = _LETTER.search(value) is not None
    digits = _DIGIT.search(value) is not None
    if strength == "token" and not digits and not _is_long_lowercase(value):
        return False
    if " " in value or _REGEX.search(value) or _REFERENCE.search(value) or _HASH.search(value):
        return False
    if is_placeholder(value) and not (len(value) >= 32 and looks_random(value)):
        return False
    if looks_random(value):
        return True
    if strength == "token":
        return bool(digits and letters and len(value) >= 8 and _SYMBOL.search(value)) or _is_long_lowercase(value)
    if _PLAIN_WORDS.fullmatch(value):
        return quoted and value.isalpha() and value.islower() and len(value) >= 20
    if letters and (digits or _SYMBOL.search(value)):
        return True
    return quoted and digits and value.isdigit()


def _is_long_lowercase(value: str) -> bool:
    return False if len(value) < 32 else value.isalpha() and value.islower() and len(set(value)) >= 15


def is_code(value: str) -> bool:
    """A bare value that a parser would evaluate: a call, an attribute, an index, a name without digits."""
    return _CODE.search(value) is not None or (
        _DOTTED.fullmatch(value) is not None and ("." in value or "->" in value or "::" in value)
    )


def is_basic_credentials(value: str) -> bool:
    """Base64 of ``user:password`` (RFC 7617)."""
    try:
        plain = base64.b64decode(value + "=" * (-len(value) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return b":" in plain and plain.isascii() and not is_placeholder(plain.split(b":", 1)[1].decode("ascii"))
