"""The only part that may open a network connection: one client for a language model that advises and nothing more.

Off unless the operator's environment switches it on (``settings``). Only two kinds of address exist (``endpoint``). One
HTTP client serves all (``http_client``), within limits of time and size. ``language_model`` asks one question at a time
within a budget and answers with a text or a reason code, never with an exception. docs/language-model.md says what
leaves the machine; tests/llm/ plays hostile servers and replies.
"""
