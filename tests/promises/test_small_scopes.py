"""A new user starts with a few notes: a question that they answer is never set aside as too far from them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from arr_sql.core.router_models import ReasonCode
from arr_sql.database import ResearchDatabase
from arr_sql.index.embedders import model_store
from tests.conftest import SCOPE

NOTES = {
    "cooling": "The second freezer alarm went off because the door seal was torn. We replaced the seal.",
    "budget": "Travel is paid from the small grant. Receipts go to Marta before the tenth of each month.",
    "optimizer": "AdamW with a peak learning rate of 3e-4 and two thousand warmup steps was stable; 1e-3 diverged.",
    "tokens": "Merging rare digits into one token lowered arithmetic accuracy by four points, so digits stay single.",
    "seeds": "Results over five seeds differ by less than half a point, so one seed is enough for ablations.",
    "storage": "Raw recordings are kept for two years on the tape library and then deleted.",
    "survey": "Eleven of forty participants left the study in the second week because the diary took too long.",
    "reading": "Smith and Lee report that retrieval helps small models most, which our runs confirm.",
    "deadline": "The camera-ready version is due on Friday; the appendix may still grow.",
    "outage": "The cluster was down on Sunday since a power supply in rack four burned out.",
    "数据": "训练集去掉了重复的网页，共删除百分之十二的文档。",
    "显存": "批大小从三十二降到十六以后，显存不再溢出。",
    "会议": "每周三下午三点开组会，由值班的同学记录。",
    "标注": "两位标注员的一致性是零点八一，分歧由第三人裁决。",
    "结果": "加入位置编码之后，长文本的困惑度下降了两点。",
    "设备": "显微镜的光源坏了，备用灯泡放在三号柜子里。",
    "投稿": "审稿人要求补充与基线方法的显著性检验。",
    "部署": "模型蒸馏之后在手机上每秒能处理四十帧图像。",
}
QUESTIONS = {
    "Why did the freezer alarm ring?": "cooling", "Who gets the receipts for trips?": "budget",
    "Which learning rate diverged?": "optimizer", "How should digits be tokenised?": "tokens",
    "How many seeds do we need for an ablation?": "seeds", "How long are raw recordings kept?": "storage",
    "Why did participants drop out?": "survey", "Does retrieval help small models?": "reading",
    "When is the camera-ready due?": "deadline", "What broke the cluster on Sunday?": "outage",
    "训练数据怎么去重？": "数据", "显存溢出怎么解决？": "显存", "组会什么时候开？": "会议", "标注一致性有多高？": "标注",
    "位置编码有什么作用？": "结果", "显微镜的备用灯泡在哪里？": "设备", "审稿人要求补充什么？": "投稿", "模型在手机上跑多快？": "部署",
}  # fmt: skip
NONSENSE = ("zorgle blimfrat quexopod", "marmalade xylophone quokka trellis", "asdf qwer hjklzxvbn", "齉龘靐龗爩")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[int, ResearchDatabase]]:
    """By the number of notes: all of them, every third, one; with the real model's vectors."""
    if model_store.find_default_model() is None:
        pytest.skip("the default model's weights are not installed (extra `local`)")
    made = {}
    for count in (len(NOTES), 6, 1):
        folder = tmp_path_factory.mktemp("notes")
        for name in names(count):
            (folder / f"{name}.md").write_text(NOTES[name] + "\n", encoding="utf-8")
        made[count] = ResearchDatabase.create(folder / ".arr" / "arr.db", SCOPE, project_folder=folder)
        made[count].add(folder)
        made[count].embed()
    yield made
    for database in made.values():
        database.close()


def names(count: int) -> list[str]:
    return list(NOTES)[:: len(NOTES) // count]


@pytest.mark.model
@pytest.mark.parametrize("count", [len(NOTES), 6, 1])
def test_what_the_notes_answer_is_answered(count: int, stores: dict[int, ResearchDatabase]) -> None:
    """In both languages, in the words of somebody who did not write them; whatever the scope's size."""
    asked = {question: name for question, name in QUESTIONS.items() if name in names(count)}
    assert len(asked) == count
    for question, name in asked.items():
        result = stores[count].search(question, write_record=False)
        assert result.state == "found", (question, [trace.detail for trace in result.traces])
        assert f"{name}.md" in [item.source_ref for item in result.evidence[:3]], question


@pytest.mark.model
@pytest.mark.parametrize("question", NONSENSE)
def test_nonsense_finds_nothing_here_too(question: str, stores: dict[int, ResearchDatabase]) -> None:
    """With as many notes as make a background."""
    result = stores[len(NOTES)].search(question, write_record=False)
    assert (result.state, {item.code for item in result.rejections}) == ("nothing_found", {ReasonCode.BELOW_FLOOR})
