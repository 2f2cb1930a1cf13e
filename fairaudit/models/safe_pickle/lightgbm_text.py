"""Text models of lightgbm: sizes and numbers that its compiled code believes are checked first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from fairaudit.models.safe_pickle.grants import Refused

__all__ = ["check_lightgbm_state", "check_lightgbm_text"]

_MOST = 100_000  # classes, and trees of a step
_STARTS = b"Tree="


def check_lightgbm_state(state: Mapping[Any, Any]) -> None:
    """Refuse the state of a `lightgbm.Booster` whose text lies."""
    for key in ("handle", "_handle"):
        handle = state.get(key)
        if isinstance(handle, (str, bytes)):
            check_lightgbm_text(handle.encode() if isinstance(handle, str) else handle)
        elif handle is not None:
            raise Refused(f"has a lightgbm.Booster whose {key} is no text")


def check_lightgbm_text(data: bytes) -> None:
    """Refuse a model whose sizes, features or children lie outside of it."""
    try:
        start = data.index(b"\n" + _STARTS) + 1
    except ValueError:
        start = len(data)  # a model without trees
    head = _read_block(data[:start])
    width = _whole(head, "max_feature_idx", 0, 2**31 - 2) + 1
    names = head.get("feature_names", "").split()
    if len(names) != width:
        raise Refused(f"has a lightgbm model of {width} features with {len(names)} names")
    _whole(head, "num_class", 1, _MOST)
    _whole(head, "num_tree_per_iteration", 1, _MOST)
    sizes = _numbers(head, "tree_sizes") if "tree_sizes" in head else []
    if any(size <= 0 for size in sizes) or start + sum(sizes) > len(data):
        raise Refused("has a lightgbm model with trees beyond its end")
    if len(sizes) != data.count(b"\n" + _STARTS):
        raise Refused("has a lightgbm model with more trees than it says, or fewer")
    for size in sizes:
        if not data.startswith(_STARTS, start):
            raise Refused("has a lightgbm model whose trees begin elsewhere")
        _check_tree(_read_block(data[start : start + size]), width)
        start += size


def _read_block(data: bytes) -> dict[str, str]:
    """The lines ``name=value``, each name once."""
    block: dict[str, str] = {}
    for line in data.decode("utf-8", "replace").split("\n"):
        name, equals, value = line.partition("=")
        if equals and name in block:
            raise Refused(f"has a lightgbm model that says {name[:40]} twice")
        if equals:
            block[name] = value
    return block


def _check_tree(tree: Mapping[str, str], width: int) -> None:
    leaves = _whole(tree, "num_leaves", 1, 2**31 - 1)
    _numbers(tree, "leaf_value", leaves, kind=float)
    sets = _whole(tree, "num_cat", 0, 2**31 - 1)
    if _whole(tree, "is_linear", 0, 1, default=0):
        _check_linear(tree, leaves, width)
    inner = leaves - 1
    if not inner:
        return
    features = _numbers(tree, "split_feature", inner)
    if not all(0 <= feature < width for feature in features):
        raise Refused("has a lightgbm tree with features that the model does not have")
    for side in ("left_child", "right_child"):
        for parent, child in enumerate(_numbers(tree, side, inner)):
            if not (parent < child < inner or -leaves <= child < 0):
                raise Refused("has a lightgbm tree with nodes outside of it")
    decisions = _numbers(tree, "decision_type", inner)
    thresholds = _numbers(tree, "threshold", inner, kind=float)
    asked = [at for at, decision in zip(thresholds, decisions, strict=True) if decision & 1]
    if not all(0 <= at < sets for at in asked):
        raise Refused("has a lightgbm tree with categories outside of it")
    if sets:
        bounds = _numbers(tree, "cat_boundaries", sets + 1)
        rising = bounds[0] == 0 and all(a <= b for a, b in pairwise(bounds))
        if not rising:
            raise Refused("has a lightgbm tree with categories outside of it")
        _numbers(tree, "cat_threshold", bounds[-1])


def _check_linear(tree: Mapping[str, str], leaves: int, width: int) -> None:
    counts = _numbers(tree, "num_features", leaves)
    if any(count < 0 for count in counts):
        raise Refused("has a lightgbm tree with fewer than no features in a leaf")
    _numbers(tree, "leaf_const", leaves, kind=float)
    _numbers(tree, "leaf_coeff", sum(counts), kind=float)
    if not all(0 <= feature < width for feature in _numbers(tree, "leaf_features", sum(counts))):
        raise Refused("has a lightgbm tree with features that the model does not have")


def _whole(
    block: Mapping[str, str], name: str, low: int, high: int, *, default: int | None = None
) -> int:
    if name not in block and default is not None:
        return default
    (value,) = _numbers(block, name, 1)
    if not low <= value <= high:
        raise Refused(f"has a lightgbm model with {name} = {value}")
    return value


def _numbers(
    block: Mapping[str, str], name: str, count: int | None = None, *, kind: Any = int
) -> Sequence[Any]:
    if name not in block:
        raise Refused(f"has a lightgbm model without {name}")
    texts = block[name].split()
    if count is not None and len(texts) != count:
        raise Refused(f"has a lightgbm model with {len(texts)} values of {name}, not {count}")
    try:
        return [kind(text) for text in texts]
    except ValueError:
        raise Refused(f"has a lightgbm model with something else than numbers in {name}") from None
