"""Lines that bear credentials are found and nothing else is. Every credential here is invented and put together at
run time, so that no scanner takes this file for a leak."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arr_sql.core import credential_shapes, redaction
from arr_sql.core.redaction import (
    REDACTED,
    WITHHELD_LINE,
    Withheld,
    has_secret,
    private_key_lines,
    redact,
    withhold_lines,
)

PLUM = "hunter2" + "-plum"
MIXED = "aB3" * 12
BEGIN = "-----BEGIN OPENSSH " + "PRIVATE KEY-----"
END = BEGIN.replace("BEGIN", "END")

CREDENTIAL_LINES = [
    "AKIA" + "ABCD1234EFGH5678",
    "AKIA" + "IOSFODNN7EXAMPLE",
    "ASIA" + "Z" * 16,
    "gh" + "p_" + MIXED,
    "gh" + "s_" + "a" * 36,
    "github_" + "pat_11ABCDEFG0" + MIXED,
    "glp" + "at-" + MIXED[:20],
    "xox" + "b-123456789012-" + MIXED,
    "s" + "k-" + "abcdefghijklmnopqrstuvwxyz" * 2,
    "s" + "k-proj-" + MIXED + MIXED,
    "s" + "k-ant-api03-" + MIXED + "_" + MIXED,
    "AI" + "za" + MIXED[:35],
    "n" + "pm_" + MIXED,
    "pypi-" + "AgEIcHlwaS5vcmc" + MIXED,
    "h" + "f_" + "abcdefghijABCDEFGHIJ" * 2,
    "sk_" + "live_" + MIXED,
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0In0.abcdefghij_k",
    BEGIN,
    f"url = https://bob:{PLUM}@git.example.org/x.git",
    f"postgresql+psycopg://lab:{PLUM}@db.local:5432/lab",
    "Authorization: Bearer " + "abc123def456ghi789",
    "curl -H 'authorization: bearer " + "abc123def456ghi789' https://x",
    "Authorization: Basic Ym9iOmh1bnRlcjItcGx1bQ==",
    f"curl -u bob:{PLUM} https://x",
    f"machine x login bob password {PLUM}",
    f"mysql --password {PLUM} -h x",
    f"CREATE USER lab IDENTIFIED BY '{PLUM}';",
    f"DB_PASSWORD={PLUM}",
    "export DB_PASSWORD=hunter2",
    "POSTGRES_PASSWORD=swordfish",
    f"  - DB_PASSWORD={PLUM}",
    'password: "Tr0ub4dor&3"',
    "password: hunter2",
    "password = hunter2",
    f'"password": "{PLUM}",',
    f'{{\\"password\\": \\"{PLUM}\\"}}',
    f"Server=db;Password={PLUM};User=x",
    f"<password>{PLUM}</password>",
    f'<property name="password" value="{PLUM}"/>',
    f'os.environ["DB_PASSWORD"] = "{PLUM}"',
    f'config.setdefault("password", "{PLUM}")',
    f'if password == "{PLUM}":',
    f'password: str = "{PLUM}"',
    f"passwd=b'{PLUM}'",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzEXzMPLEKEY",
    "?access_token=" + "abc123def456ghi789",
    'client_secret: "8Q~abcDEF123ghiJKL456"',
    "//r/:_authToken=" + "n" + "pm_" + "abcdefghijklmnopqrstuvwxyzABCDEFGHIJ",
    f"密码：{PLUM}",
    '口令="Tr0ub4dor&3"',
    "数据库密钥 = 0123abcd4567ef89",
    "令牌: abc123def456ghi7",
]

PLAIN_LINES = [
    '"integrity": "sha512-' + "aB3d" * 21 + 'Qx=="',
    "sha256:" + "0a1b2c3d" * 8,
    "d670460b4b4aece5915caf5c68d12f560a9fe3e4",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "integrity = sum(len(p.warnings) for p in projects)",
    "password = getpass.getpass()",
    "token_count = 12345",
    "api_key=self._api_key",
    "https://doi.org/10.1145/3397271.3401075",
    "arXiv:2101.00001",
    "Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz",
    "数据令牌",
    "令牌桶算法：每秒1000个",
    "密码：请输入密码",
    "密码学: RSA-2048",
    "DB_PASSWORD=changeme",
    "DB_PASSWORD=",
    "DB_PASSWORD=xxxxxxxx",
    "DB_PASSWORD=your-password-here",
    "DB_PASSWORD=<password>",
    "DB_PASSWORD=${DB_PASS}",
    "PASSWORD=$DB_PASS",
    "secret: {{ vault_secret }}",
    "token: ${{ secrets.GITHUB_TOKEN }}",
    "OPENAI_API_KEY=sk-...",
    "GITHUB_TOKEN=ghp_" + "x" * 36,
    'api_key = os.environ["OPENAI_API_KEY"]',
    "def f(password=None, token=None):",
    "password: str",
    "password = None",
    "self.password = password2",
    'f(password=password, user="bob")',
    "password: required|min:8",
    "the password is checked",
    "Set DB_PASSWORD before the run.",
    'tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")',
    'tokenizer_name: "gpt2-medium-128k"',
    "max_tokens: 4096",
    'token: str = "abc"',
    "token = tokens[0]",
    'token = r"[-!#$%&\'*+.^_`|~0-9a-zA-Z]+"',
    '"token_type": "bearer"',
    '"NextToken": "GcqyoAJuZwujOT35EN4LCI3EUzMtiLq3"',
    '"ARN": "arn:aws:secretsmanager:us-west-2:123456789012:secret:MyTestSecret-a1b2c3"',
    "secret = hashlib.sha256(data).hexdigest()",
    'publicKeyToken="1fc8b3b9a1e18e3b"',
    '<input type="password" autocomplete="current-password">',
    "('http', 'user/name', 'password', 'localhost:22')",
    "auth = HTTPBasicAuth(user, password)",
    "Authorization: Bearer token",
    "Basic authentication is off",
    "postgres://user:password@localhost/db",
    '"resolved": "https://registry.npmjs.org/@babel/core/-/core-7.1.0.tgz#sha1"',
    "PASSWORD_MIN_LENGTH=12",
    "askPass: config?.core?.askpass,",
    "uses: actions/checkout@v4",
    'author = "Smith2020"',
    "keywords = {authentication, passwords}",
    "disk-usage and task-queue and risk-adjusted-returns-2020-and-more",
]


@pytest.mark.parametrize("line", CREDENTIAL_LINES)
def test_a_line_with_a_credential_is_withheld_and_its_neighbours_are_not(line: str) -> None:
    """Whatever stands around it, the line goes, the neighbours stay, and the number of lines stays."""
    result = withhold_lines(f"before\n    {line}  # a comment\nafter\n")
    assert result == Withheld(f"before\n{WITHHELD_LINE}\nafter\n", 1, (2,)) or BEGIN in line
    assert has_secret(line)


@pytest.mark.parametrize("line", PLAIN_LINES)
def test_hashes_code_placeholders_and_prose_are_left_alone(line: str) -> None:
    """No false alarm: these lines stay as they are."""
    assert withhold_lines(line) == Withheld(line, 0, ())
    assert redact(line) == line


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"why does DB_PASSWORD={PLUM} fail?", f"why does DB_PASSWORD={REDACTED} fail?"),
        (f'password: "{PLUM}" twice', f'password: "{REDACTED}" twice'),
        (f"git clone https://bob:{PLUM}@x.org/y now", f"git clone https://bob:{REDACTED}@x.org/y now"),
        ("is gh" + "p_" + MIXED + " valid", f"is {REDACTED} valid"),
        (f"密码：{PLUM} 不对", f"密码：{REDACTED} 不对"),
        (f"a {BEGIN}\nAAAA\nBBBB\n{END}\nb", f"a {REDACTED}\n{REDACTED}\n{REDACTED}\n{REDACTED}\nb"),
    ],
)
def test_in_a_query_the_credential_alone_is_replaced(text: str, expected: str) -> None:
    """The rest of the query stays readable."""
    assert redact(text) == expected


@pytest.mark.parametrize("line", CREDENTIAL_LINES)
def test_redacting_leaves_nothing_to_redact(line: str) -> None:
    """What ``redact`` returns has no secret left, and redacting again changes nothing."""
    once = redact(line)
    assert REDACTED in once
    assert redact(once) == once


def test_a_private_key_is_withheld_as_a_whole() -> None:
    """The lines inside a key look like any base64; the block decides."""
    text = f"intro\n{BEGIN}\n{'b3BlbnNzaC1rZXk' * 4}\nQUJD\n{END}\nend"
    assert withhold_lines(text).lines == (2, 3, 4, 5)
    assert private_key_lines(text) == {2, 3, 4, 5}
    assert withhold_lines(text).text == "\n".join(["intro", *[WITHHELD_LINE] * 4, "end"])


def test_an_indented_quoted_or_commented_private_key_is_withheld_too() -> None:
    """YAML blocks, string literals and diffs carry keys as well."""
    for before, after in (("    ", ""), ("# ", ""), ('    "', '\\n"'), ("+", ""), ("> ", "\r")):
        block = "\n".join(
            f"{before}{line}{after}" for line in (BEGIN, "Proc-Type: 4,ENCRYPTED", "", "QUJDREVG" * 8, END)
        )
        assert withhold_lines(f"x\n{block}\ny").lines == (2, 3, 4, 5, 6)


def test_prose_that_names_the_header_loses_that_line_only() -> None:
    """A key without an end stops at the first line that cannot be part of a key."""
    text = f"The file starts with {BEGIN} as usual.\nThen follows the base64 text.\nAnd so on."
    assert withhold_lines(text).lines == (1,)


def test_carriage_returns_and_the_last_line_end_stay() -> None:
    """Line numbers and line ends are those of the file."""
    result = withhold_lines(f"a\r\nDB_PASSWORD={PLUM}\r\nc\r\n")
    assert result.text == f"a\r\n{WITHHELD_LINE}\r\nc\r\n"


def test_a_character_whose_lower_case_is_longer_does_not_shift_the_lines() -> None:
    """``İ`` lower-cases to two characters; the line found must still be the right one."""
    assert withhold_lines("İ" * 50 + f"\n\nDB_PASSWORD={PLUM}\n").lines == (3,)


@given(st.lists(st.sampled_from([*CREDENTIAL_LINES[:2], *PLAIN_LINES, "", "İ", "x\ry"]), max_size=12))
def test_exactly_the_credential_lines_are_withheld(lines: list[str]) -> None:
    """Lines do not influence one another."""
    expected = tuple(number for number, line in enumerate(lines, 1) if line in CREDENTIAL_LINES)
    result = withhold_lines("\n".join(lines))
    assert result.lines == expected
    assert result.text.count("\n") == max(0, len(lines) - 1)


@given(st.text())
def test_any_text_survives(text: str) -> None:
    """No input raises, and the number of lines never changes."""
    assert withhold_lines(text).text.count("\n") == text.count("\n")
    redact(text)


@pytest.mark.parametrize("line", CREDENTIAL_LINES)
def test_every_kind_of_credential_has_a_hint(line: str) -> None:
    """Lines without a hint are never looked at, so each credential must hold one."""
    assert any(hint in line.lower() for hint in redaction._HINTS)


def test_every_token_shape_begins_with_a_hint() -> None:
    """Each shape's literal start is a hint or holds one (the Telegram shape has its hint in the middle)."""
    samples = {
        "A(?:KIA": ("akia", "asia", "abia", "acca"), "gh[pousr]_": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
        "gl(?:pat": ("glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glsoat-", "glft-", "glimt-", "glagent-"),
        "(?:gsk": ("gsk", "r8", "nvapi", "pplx", "xai"), "[sr]k_": ("sk_", "rk_"), "[0-9]{8,10}:AA": (":aa",),
        "shp(?:at": ("shpat_", "shpca_", "shppa_", "shpss_"), "AGE-SECRET-KEY": ("secret",), "tskey": ("key",),
    }  # fmt: skip
    for shape in credential_shapes._SHAPES:
        literal = shape.split("[")[0].split("(")[0].replace("\\", "").lower()
        hints = next((hints for start, hints in samples.items() if shape.startswith(start)), (literal,))
        for hint in hints:
            assert any(known in hint for known in redaction._HINTS), shape


PARTS = st.lists(
    st.sampled_from(
        [*CREDENTIAL_LINES, "password", "api_key", "PASSWD", "pa\u017fs", "s\u0131gn-key", "İ", "口令", " = ", ": ", "：", '"', "'", ", ",
         "<", ">", "<-", " value=", "x9!kQ2zz81", "login ", "\t"]
    ),
    max_size=6,
)  # fmt: skip


@given(PARTS.map("".join))
def test_looking_only_where_names_begin_finds_every_assignment(line: str) -> None:
    """The quick search (plain finds of what a name begins with) gives what the expression finds in the whole line."""
    place = 0
    wanted = []
    while match := credential_shapes.ASSIGNMENT.search(line, place):
        place = max(match.start() + 1, match.end() - 1)
        wanted.append(match.span())
    assert [match.span() for match in redaction._assignments(line, redaction._lower(line))] == wanted


@given(st.lists(PARTS.map(" ".join), min_size=1, max_size=6))
def test_what_was_seen_before_changes_nothing(texts: list[str]) -> None:
    """Words are remembered with their hints: a text gives the same after any others, and when all was forgotten."""

    def forget() -> None:
        redaction._clean.clear()
        redaction._bearing.clear()

    fresh = []
    for text in texts:
        forget()
        fresh.append(withhold_lines(text))
    forget()
    assert [withhold_lines(text) for text in [*texts, *texts]] == [*fresh, *fresh]
