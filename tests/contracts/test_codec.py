"""Records come back as they were, and a damaged one says in a line where and why."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from fairaudit import InputError
from fairaudit.auditing.audit_result import AuditResult
from fairaudit.results import Result
from fairaudit_cli import main as cli

KEPT = Path(__file__).parents[1] / "golden/records_0_1_0"


class Color(str, Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Part:
    name: str = field(metadata={"key": "called"})
    sizes: tuple[float, ...]
    span: tuple[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Thing(Result):
    color: Color
    size: float
    count: int
    good: bool
    parts: tuple[Part, ...]
    first: Part | None
    by_name: dict[str, Part]
    pairs: tuple[tuple[str, int], ...]
    anything: dict[str, Any]
    rows: pd.DataFrame = field(compare=False)
    unsaved: Any = field(default=None, metadata={"key": None})
    later: str = "default"

    schema: ClassVar[str] = "fairaudit/thing/2"
    plural: ClassVar[str] = "things"
    derived: ClassVar[tuple[str, ...]] = ("twice",)

    @property
    def twice(self) -> float:
        return 2 * self.size


@pytest.fixture
def thing() -> Thing:
    part = Part("a", (1.0, 2.5), ("x", 3))
    return Thing(
        color=Color.BLUE,
        size=np.float64(0.5),
        count=np.int64(3),
        good=np.bool_(True),
        parts=(part, Part("b", ())),
        first=None,
        by_name={"a": part},
        pairs=(("p", 1), ("q", 2)),
        anything={"list": [1, {"x": None}]},
        rows=pd.DataFrame({"n": [1, 2], "why": ["x", None], "p": [0.5, math.nan]}),
        unsaved=object(),
    )


def test_there_and_back(thing: Thing, tmp_path: Path) -> None:
    record = json.loads(thing.to_json())
    assert list(record)[:3] == ["schema", "twice", "color"]
    assert record["parts"][0] == {"called": "a", "sizes": [1.0, 2.5], "span": ["x", 3]}
    assert record["rows"][1] == {"n": 2, "why": None, "p": None} and "unsaved" not in record
    path = tmp_path / "thing.json"
    path.write_text(thing.to_json(), encoding="utf-8")
    again = Thing.load(path)
    assert again.unsaved is None and again.color is Color.BLUE
    assert again.to_json() == thing.to_json()
    assert again.parts == thing.parts and again.by_name == thing.by_name
    assert list(again.rows.columns) == ["n", "why", "p"] and math.isnan(again.rows["p"][1])


def test_undefined_numbers_stay_undefined(thing: Thing) -> None:
    record = thing.to_dict() | {"size": None}
    assert math.isnan(Thing.from_dict(record).size)


def test_fields_of_later_and_earlier_versions(thing: Thing) -> None:
    record = thing.to_dict()
    del record["later"]
    assert Thing.from_dict({**record, "unheard_of": 1}).later == "default"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": None}, "not a record of the form 'fairaudit/thing/2' (its schema is None)"),
        ({"schema": "fairaudit/audit/1"}, "(its schema is 'fairaudit/audit/1')"),
        ({"schema": "fairaudit/thing/1"}, "(its schema is 'fairaudit/thing/1')"),
        ({"schema": "fairaudit/thing/3"}, "this version of fairaudit reads 'fairaudit/thing/2'"),
        ({"count": 1.5}, "count is not a whole number. Got 1.5."),
        ({"count": None}, "count is not a whole number. Got None."),
        ({"count": True}, "count is not a whole number. Got True."),
        ({"size": "1"}, "size is not a number. Got '1'."),
        ({"size": True}, "size is not a number. Got True."),
        ({"good": 1}, "good is not true or false. Got 1."),
        ({"color": "green"}, "color is not one of red, blue. Got 'green'."),
        ({"color": ["red"]}, "color is not one of red, blue. Got ['red']."),
        ({"parts": {}}, "parts is not a list. Got {}."),
        ({"parts": [7]}, "parts[0] is not an object. Got 7."),
        ({"parts": [{"sizes": []}]}, "parts[0].called is missing."),
        ({"parts": [{"called": "a", "sizes": [1, "x"]}]}, "parts[0].sizes[1] is not a number."),
        ({"by_name": {"a": {"called": 2, "sizes": []}}}, "by_name.a.called is not text. Got 2."),
        ({"pairs": [["p"]]}, "pairs[0] does not have 2 values. Got ['p']."),
        ({"first": []}, "first is not an object. Got []."),
        ({"anything": []}, "anything is not an object. Got []."),
        ({"rows": 3}, "rows is not a list. Got 3."),
        ({"rows": [3]}, "rows[0] is not an object. Got 3."),
        ({"later": "x" * 99 + "\n", "good": "y" * 99}, f"Got '{'y' * 59}…."),
    ],
)
def test_damage_is_named(thing: Thing, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        Thing.from_dict(thing.to_dict() | change)
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("key", ["count", "parts", "rows", "first"])
def test_a_missing_field_is_named(thing: Thing, key: str) -> None:
    record = thing.to_dict()
    del record[key]
    with pytest.raises(InputError, match=f"The record is damaged: {key} is missing"):
        Thing.from_dict(record)


@pytest.mark.parametrize("record", [None, [], "text", 3])
def test_what_is_no_object_is_no_record(record: Any) -> None:
    with pytest.raises(InputError, match="damaged: it is not an object"):
        Thing.from_dict(record)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "There is no file"),
        (b"", "is not JSON, or was cut off"),
        (b"\xff\xfe", "cannot be read"),
        (b"[]", "holds no record of fairaudit"),
        (b"[" * 100_000, "is not JSON, or was cut off"),
        (b'{"schema": "fairaudit/audit/9"}', "this version of fairaudit reads 'fairaudit/audit/1'"),
        (b'{"schema": "fairaudit/plan/1"}', "effect is missing"),
    ],
)
@pytest.mark.parametrize("command", ["report", "verify"])
def test_commands_say_it_in_a_line(
    command: str,
    content: bytes | None,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "record.json"
    if content is not None:
        path.write_bytes(content)
    data = ["--data", "x.csv"] if command == "verify" else []
    assert cli.main([command, str(path), *data]) == 2
    shown = capsys.readouterr()
    if command == "verify" and b"plan" in (content or b""):
        message = "(its schema is 'fairaudit/plan/1')"
    assert shown.out == "" and shown.err.count("\n") == 1 and message in shown.err


def test_every_cut_of_a_record_is_an_error(tmp_path: Path) -> None:
    whole = (KEPT / "audit-shards.json").read_text(encoding="utf-8").rstrip()
    path = tmp_path / "cut.json"
    for end in range(0, len(whole), 397):
        path.write_text(whole[:end], encoding="utf-8")
        with pytest.raises(InputError, match="not JSON, or was cut off"):
            AuditResult.load(path)
