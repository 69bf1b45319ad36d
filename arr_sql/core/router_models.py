"""What a retrieval says about itself: plans, traces, refusals, degradations, and the one closed list of reasons.

:class:`ReasonCode` is the whole vocabulary. Each code is reached by a test (tests/promises/test_reason_codes.py) and
explained in docs/reason-codes.md, which is generated from the sentences here. No trace, code or message ever
holds query text, evidence, a path outside the root, or a key.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from arr_sql.core.research_models import EvidenceChunk, Value

if TYPE_CHECKING:
    from rich.table import Table

MAX_ROUNDS = 6
MAX_CALLS = 12
MAX_REWRITTEN_QUERY = 1_000
MAX_QUERY = 10_000
MAX_RERANKED = 20
RRF_K = 60

ChannelState = Literal["ok", "empty", "cut", "stale", "not_indexed", "timed_out", "unavailable", "error", "rejected"]
RunState = Literal["found", "nothing_found", "incomplete"]


class ReasonCode(str, Enum):
    """Why something was refused, weaker than asked, or stopped. Closed: nothing else is ever said."""

    # A plan that breaks the format.
    PLAN_EMPTY = "plan_empty"
    PLAN_INVALID = "plan_invalid"
    TOO_MANY_ROUNDS = "too_many_rounds"
    TOO_MANY_CALLS = "too_many_calls"
    DUPLICATE_CALL = "duplicate_call"
    REWRITTEN_QUERY_TOO_LONG = "rewritten_query_too_long"
    REWRITTEN_QUERY_BLANK = "rewritten_query_blank"
    # Admission of one call, in this order.
    BUDGET_EXHAUSTED = "budget_exhausted"
    NOT_REGISTERED = "not_registered"
    NOT_READ_ONLY = "not_read_only"
    PROVIDER_NOT_ALLOWED = "provider_not_allowed"
    UNSAFE_NAME = "unsafe_name"
    STALE_INDEX = "stale_index"
    # One channel.
    CHANNEL_ERROR = "channel_error"
    TIMED_OUT = "timed_out"
    CUT = "cut"
    NOT_INDEXED = "not_indexed"
    IDENTITY_CHANGED = "identity_changed"
    WRONG_TYPE = "wrong_type"
    MODEL_MISSING = "model_missing"
    MODEL_CHANGED = "model_changed"
    MODEL_FAILED = "model_failed"
    INDEX_MISSING = "index_missing"
    OTHER_BRANCH = "other_branch"
    NO_ROOTS = "no_roots"
    ROOT_MISSING = "root_missing"
    # One item of a channel.
    WRONG_SCOPE = "wrong_scope"
    BAD_SCORE = "bad_score"
    CONFLICTING_ITEM = "conflicting_item"
    # A language model's advice: the rules' plan or order is used instead.
    LLM_OFF = "llm_off"
    LLM_NOT_CONFIGURED = "llm_not_configured"
    LLM_BUDGET_EXHAUSTED = "llm_budget_exhausted"
    LLM_UNREACHABLE = "llm_unreachable"
    LLM_NOT_TRUSTED = "llm_not_trusted"
    LLM_TIMED_OUT = "llm_timed_out"
    LLM_REDIRECTED = "llm_redirected"
    LLM_HTTP_STATUS = "llm_http_status"
    LLM_TOO_LARGE = "llm_too_large"
    LLM_NOT_A_COMPLETION = "llm_not_a_completion"
    LLM_KEY_ECHOED = "llm_key_echoed"
    LLM_NOT_JSON = "llm_not_json"
    LLM_WRONG_VERSION = "llm_wrong_version"
    LLM_WRONG_SHAPE = "llm_wrong_shape"
    LLM_UNKNOWN_TOOL = "llm_unknown_tool"
    LLM_UNSAFE_REWRITE = "llm_unsafe_rewrite"
    LLM_QUERY_DROPPED = "llm_query_dropped"
    LLM_WRONG_IDS = "llm_wrong_ids"
    LLM_BAD_SCORE = "llm_bad_score"
    # The run.
    NO_NEW_EVIDENCE = "no_new_evidence"
    BELOW_FLOOR = "below_floor"
    RECORD_NOT_WRITTEN = "record_not_written"

    def __str__(self) -> str:
        return self.value


REASON_TEXT: dict[ReasonCode, str] = {
    ReasonCode.PLAN_EMPTY: "The plan has no call.",
    ReasonCode.PLAN_INVALID: "The plan is not of the plan format.",
    ReasonCode.TOO_MANY_ROUNDS: f"The plan has more than {MAX_ROUNDS} rounds.",
    ReasonCode.TOO_MANY_CALLS: f"The plan has more than {MAX_CALLS} calls.",
    ReasonCode.DUPLICATE_CALL: "The plan asks the same channel the same query twice.",
    ReasonCode.REWRITTEN_QUERY_TOO_LONG: f"A rewritten query has more than {MAX_REWRITTEN_QUERY} characters.",
    ReasonCode.REWRITTEN_QUERY_BLANK: "A rewritten query is blank.",
    ReasonCode.BUDGET_EXHAUSTED: "The retrieval's budget of calls was used up before this call.",
    ReasonCode.NOT_REGISTERED: "No channel of that name is registered.",
    ReasonCode.NOT_READ_ONLY: "The channel does not state exactly that it is read-only.",
    ReasonCode.PROVIDER_NOT_ALLOWED: "The channel's provider is not in the allowed set.",
    ReasonCode.UNSAFE_NAME: "The channel's name or provider holds a word that names an action or a remote service.",
    ReasonCode.STALE_INDEX: "The channel's index is behind the content. Run `arr db rebuild`.",
    ReasonCode.CHANNEL_ERROR: "The channel failed; the others' evidence stands.",
    ReasonCode.TIMED_OUT: "The channel did not finish before its deadline.",
    ReasonCode.CUT: "A limit on files, bytes, results or time ended the channel's search early.",
    ReasonCode.NOT_INDEXED: "Part of the scope has no vectors yet. Run `arr embed`.",
    ReasonCode.IDENTITY_CHANGED: "The channel changed its name, provider or read-only mark since it was registered.",
    ReasonCode.WRONG_TYPE: "The channel answered with something that is not a channel answer.",
    ReasonCode.MODEL_MISSING: "No embedding model is installed. See `arr model list`.",
    ReasonCode.MODEL_CHANGED: "The stored vectors were made by another model. Run `arr embed --rebuild`.",
    ReasonCode.MODEL_FAILED: "The embedding model is damaged or could not embed the query. See `arr doctor`.",
    ReasonCode.INDEX_MISSING: "The text index is missing or was made by another SQLite. Run `arr db rebuild`.",
    ReasonCode.OTHER_BRANCH: "The tree on disk is not this scope's repository with this scope's branch checked out.",
    ReasonCode.NO_ROOTS: "No folder has been added to this scope. Run `arr add FOLDER`.",
    ReasonCode.ROOT_MISSING: "An added folder is not there or cannot be opened.",
    ReasonCode.WRONG_SCOPE: "An item of another scope was offered and refused.",
    ReasonCode.BAD_SCORE: "An item's score is not a finite number; the item was refused.",
    ReasonCode.CONFLICTING_ITEM: "Two items share an id but differ in source, locator or content; the later one was refused.",
    ReasonCode.LLM_OFF: "No language model is switched on: ARR_LLM_ENABLED is not set. See `arr llm check`.",
    ReasonCode.LLM_NOT_CONFIGURED: "The language model's settings are incomplete or not allowed. See `arr llm check`.",
    ReasonCode.LLM_BUDGET_EXHAUSTED: "The budget of language model calls is used up; no call was made.",
    ReasonCode.LLM_UNREACHABLE: "The language model's server could not be reached, or the connection broke.",
    ReasonCode.LLM_NOT_TRUSTED: "The language model's server showed a certificate that is not valid for it.",
    ReasonCode.LLM_TIMED_OUT: "The language model did not answer in full before ARR_LLM_TIMEOUT_SECONDS.",
    ReasonCode.LLM_REDIRECTED: "The language model's server answered with a redirect, which is never followed.",
    ReasonCode.LLM_HTTP_STATUS: "The language model's server answered with an HTTP status other than 200.",
    ReasonCode.LLM_TOO_LARGE: "The language model's answer exceeds the size limit and was not read to its end.",
    ReasonCode.LLM_NOT_A_COMPLETION: "The server's answer is not one finished, plain chat completion.",
    ReasonCode.LLM_KEY_ECHOED: "The server's answer holds the key that was sent; it was thrown away.",
    ReasonCode.LLM_NOT_JSON: "The model's reply is not one strict JSON object.",
    ReasonCode.LLM_WRONG_VERSION: "The model's reply does not name the version of the prompt that was sent.",
    ReasonCode.LLM_WRONG_SHAPE: "A field of the model's reply is missing, unknown or of the wrong type.",
    ReasonCode.LLM_UNKNOWN_TOOL: "The model's plan names a channel that it was not offered.",
    ReasonCode.LLM_UNSAFE_REWRITE: "A rewritten query names a scope, path, address or limit, or holds what no query needs.",
    ReasonCode.LLM_QUERY_DROPPED: "The model's plan asks no channel the query as it was given.",
    ReasonCode.LLM_WRONG_IDS: "The model did not score each candidate exactly once.",
    ReasonCode.LLM_BAD_SCORE: "A score of the model is not a finite number from 0 to 1.",
    ReasonCode.NO_NEW_EVIDENCE: "A round added nothing new, so the remaining rounds were not run.",
    ReasonCode.BELOW_FLOOR: "What was found is too far from the question to be an answer, so it was set aside. "
    "`arr search --no-floor` shows it.",
    ReasonCode.RECORD_NOT_WRITTEN: "The file or medium is read-only, full or kept locked by another process: no record was written.",
}


class ToolCall(Value):
    """One call of a plan: a channel's name and, when given, the query it gets instead of the user's."""

    tool: Annotated[str, Field(min_length=1, max_length=100)]
    query: str | None = None


class QueryPlan(Value):
    """Rounds of calls. Calls of one round run side by side, rounds one after the other."""

    version: Literal[1] = 1
    tool_rounds: tuple[tuple[ToolCall, ...], ...]
    reason: str = ""


class ToolTrace(Value):
    """What became of one planned call. ``candidate_count`` matched, ``eligible_count`` were returned."""

    round_index: int
    tool_name: str
    state: ChannelState
    accepted: bool
    candidate_count: int = 0
    eligible_count: int = 0
    duration_ms: float = 0.0
    reason: str = ""
    detail: dict[str, Any] = Field(default_factory=dict)


class Rejection(Value):
    """Something refused: a call, or one item of a channel's answer."""

    code: ReasonCode
    tool_name: str
    round_index: int | None = None
    count: int = 1


class Degradation(Value):
    """Something weaker than asked. ``detail`` holds numbers and codes only."""

    code: ReasonCode
    tool_name: str = ""
    detail: dict[str, Any] = Field(default_factory=dict)


class RouterResult(Value):
    """The whole answer: evidence and the account of how it was found."""

    retrieval_id: str
    evidence: tuple[EvidenceChunk, ...]
    traces: tuple[ToolTrace, ...]
    rejections: tuple[Rejection, ...]
    degradations: tuple[Degradation, ...]
    partial: bool
    state: RunState
    plan: QueryPlan

    def _repr_html_(self) -> str:
        """The evidence as a table, for notebooks."""
        from arr_sql.core.notebook import html_of_result

        return html_of_result(self)

    def __rich__(self) -> Table:
        """The same for ``rich.print``."""
        from arr_sql.core.notebook import rich_of_result

        return rich_of_result(self)
