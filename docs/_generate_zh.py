"""The generated parts of the Chinese reference: reason codes and errors. The pages in docs/zh/ call it through cog.

Each dictionary must cover its English counterpart: a missing or left-over name stops the generation, and with it the test.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import _generate

GROUPS = {
    "A plan that breaks the format": "不合格式的计划",
    "Admission of one call, in this order": "一次调用的准入，按此顺序检查",
    "One channel": "一个通道",
    "One item of a channel": "通道结果中的一条",
    "The run": "整次检索",
    "A language model's advice: the rules' plan or order is used instead": "语言模型的建议：改用规则的计划或顺序",
}
ERRORS = {
    "ArrError": "arr_sql 有意抛出的一切错误之根。`exit_code` 是命令行返回的退出码。",
    "InputError": "调用者的错误。没有读写任何东西。",
    "ScopeInvalid": "作用域五个值中的一个不合规则。",
    "QueryEmpty": "问题里没有可搜索的内容。",
    "PlanInvalid": "调用者给的计划不合计划格式；`code` 是封闭词表中的原因码。",
    "PathRefused": "路径在受信任的文件夹之外，或是特殊文件，或名字敏感。",
    "PatternInvalid": "引擎不认识的正则表达式。`position` 从 0 计，整体有误时为 None。",
    "MemoryInvalid": "记忆的某个字段（`field`）不合规则。",
    "ImportInvalid": "记忆文件有误；`problems` 列出每处的路径、行号和说明。什么都没有导入。",
    "GoldInvalid": "评测集在 `path`:`line` 处有误。",
    "StoreError": "与数据库文件有关的问题。",
    "StoreMissing": "还没有项目或数据库文件。",
    "NotAnArrDatabase": "文件不是 SQLite，或属于别的程序。",
    "SchemaOutOfDate": "文件比本程序旧：先迁移。",
    "SchemaTooNew": "文件比本程序新：升级程序。",
    "MigrationChanged": "已应用于此文件的迁移后来被改过。",
    "StoreBusy": "另一个进程持有写锁超过时限。",
    "StoreFull": "磁盘已满；正在进行的一步已撤销，之前的内容不受影响。",
    "StoreReadOnly": "要求写入不可写的文件或介质。",
    "StoreDamaged": "SQLite 报告文件损坏。",
    "AuditChainBroken": "审计日志校验失败。",
    "StateError": "当前状态下不允许的一步。",
    "MemoryChanged": "记忆已不是读到时的修订：拒绝会丢失更新的写入。`revision` 是现在的修订，`current` 是现在的记忆。",
    "ReplicaError": "把文件复制到其他机器的 Litestream 缺失或失败。文件本身没有被改动。",
    "ModelError": "向量模型缺失、损坏，或与生成已存向量的模型不同。",
    "ChannelError": "一个通道失败；路由器把它记入轨迹。`code` 是原因码。",
    "LLMError": "语言模型失败。从不到达 `search()` 的调用者。",
}


def reason_codes() -> str:
    """Every code with its Chinese sentence, by group."""
    from arr_sql.core.reason_text_zh import REASON_TEXT_ZH
    from arr_sql.core.router_models import ReasonCode

    parts = []
    for title, codes in _generate.reason_groups():
        parts += [f"## {GROUPS[title]}\n", "| 代码 | 含义 |", "|---|---|"]
        parts += [f"| `{code}` | {REASON_TEXT_ZH[ReasonCode(code)]} |" for code in codes]
        parts.append("")
    return "\n".join(parts)


def left_out() -> str:
    """Every reason for leaving a file out."""
    from arr_sql.serve.word_list import WORDS

    rows = ["| 原因 | 含义 |", "|---|---|"]
    for code in (*_generate.LEFT_OUT, *_generate.reader_refusals()):
        rows.append(f"| `{code}` | {WORDS[f'left_out.{code}'][1]} |")
    return "\n".join(rows) + "\n"


def errors() -> str:
    """The error tree as a table; the indent shows the parent."""
    rows = ["| 错误 | 含义 | 退出码 |", "|---|---|---|"]
    classes = _generate.error_classes()
    assert set(ERRORS) == {kind.__name__ for _, kind in classes}, set(ERRORS) ^ {kind.__name__ for _, kind in classes}
    for depth, kind in classes:
        indent = "&nbsp;&nbsp;&nbsp;&nbsp;" * depth
        rows.append(f"| {indent}`{kind.__name__}` | {ERRORS[kind.__name__]} | {kind.exit_code} |")  # type: ignore[attr-defined]
    return "\n".join(rows) + "\n"
