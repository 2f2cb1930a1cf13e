"""Decision trees of a file: nodes within the tree, trees as wide as the model that asks them.

Compiled code follows the numbers of a tree without a look at where they lead.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairaudit.models.safe_pickle.grants import Refused

__all__ = ["check_trees"]

_ASK_THEIR_TREES = ("sklearn.ensemble._forest", "sklearn.ensemble._gb")
_WORDS = 8  # of 32 bits: a set of up to 256 categories


def check_trees(thing: Any) -> None:
    """Refuse trees, and models made of trees, whose numbers point outside."""
    kind = type(thing)
    if kind.__name__ == "Tree" and kind.__module__ == "sklearn.tree._tree":
        _check_tree(thing)
        return
    parts = getattr(thing, "__dict__", {})
    if _is_tree(parts.get("tree_")):
        _check_width(thing, parts["tree_"].n_features)
    if kind.__module__ in _ASK_THEIR_TREES and "estimators_" in parts:
        _check_ensemble(thing, np.asarray(parts["estimators_"], dtype=object))
    if "_predictors" in parts:
        _check_boosting(thing)


def _is_tree(thing: Any) -> bool:
    return type(thing).__name__ == "Tree" and type(thing).__module__ == "sklearn.tree._tree"


def _check_tree(tree: Any) -> None:
    if not 0 < tree.node_count <= tree.capacity:
        raise Refused("has a tree that counts more nodes than it has")
    inner = tree.children_left != -1
    children = np.stack([tree.children_left, tree.children_right])
    _check_nodes(children, inner, tree.feature, tree.n_features)
    if tree.compute_node_depths().max() - 1 > tree.max_depth:
        raise Refused("has a tree that is deeper than it says")


def _check_nodes(children: Any, inner: Any, feature: Any, n_features: int) -> None:
    """Children come after their parent and lie in the tree; features are those of the table."""
    own = np.arange(children.shape[1])
    right = (children > own) & (children < len(own))
    if len(own) == 0 or not right[:, inner].all():
        raise Refused("has a tree with nodes outside of it")
    if not ((feature[inner] >= 0) & (feature[inner] < n_features)).all():
        raise Refused("has a tree with features that the model does not have")


def _check_width(model: Any, n_features: int) -> None:
    """The number of columns that the model lets through is the one that the tree reads."""
    stated = vars(model).get("n_features_in_")
    if not isinstance(stated, (int, np.integer)) or stated != n_features:
        raise Refused(
            f"has a tree of {n_features} features in a {type(model).__name__} of {stated!r}"
        )


def _check_ensemble(model: Any, estimators: Any) -> None:
    for estimator in estimators.ravel():
        tree: Any = getattr(estimator, "__dict__", {}).get("tree_")
        if not _is_tree(tree):
            raise Refused(f"has a {type(model).__name__} of other things than trees")
        _check_width(model, tree.n_features)
    if estimators.ndim == 2 and estimators.shape[1] > 1:  # boosting: a column for each tree
        width = estimators.shape[1]
        first: Any = getattr(model, "init_", None)
        stated = [getattr(model, "n_trees_per_iteration_", width)]
        if not isinstance(first, str):
            stated += [np.size(getattr(first, "classes_", ()))]
            stated += [np.size(first.class_prior_)] if hasattr(first, "class_prior_") else []
        if any(number != width for number in stated):
            raise Refused(f"has a {type(model).__name__} of more trees than columns")


def _check_boosting(model: Any) -> None:
    stated = vars(model).get("n_features_in_")
    if not isinstance(stated, (int, np.integer)):
        raise Refused(f"has a {type(model).__name__} that does not say how many features it has")
    n_features = int(stated)
    categorical = np.asarray(
        getattr(getattr(model, "_bin_mapper", None), "is_categorical_", np.zeros(n_features))
    )
    if categorical.shape != (n_features,):
        raise Refused(f"has a {type(model).__name__} with categories of other features")
    _check_columns(getattr(model, "_preprocessor", None), n_features)
    for tree in (tree for several in model._predictors for tree in several):
        nodes = tree.nodes
        children = np.stack([nodes["left"], nodes["right"]]).astype(np.int64)
        inner = nodes["is_leaf"] == 0
        _check_nodes(children, inner, nodes["feature_idx"], n_features)
        asking = inner & (nodes["is_categorical"] != 0)
        if not asking.any():
            continue
        sets = np.shape(tree.raw_left_cat_bitsets)
        if len(sets) != 2 or sets[1] != _WORDS or nodes["bitset_idx"][asking].max() >= sets[0]:
            raise Refused("has a tree with categories outside of it")
        if not categorical[nodes["feature_idx"][asking]].all():
            raise Refused("has a tree with categories of a feature that has none")


def _check_columns(preprocessor: Any, n_features: int) -> None:
    """What comes before the trees keeps the number of columns."""
    if preprocessor is None:
        return
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    width = 0
    if type(preprocessor) is ColumnTransformer:
        for _, step, columns in preprocessor.transformers_:
            chosen = np.asarray(columns)
            count = int(chosen.sum()) if chosen.dtype == bool else chosen.size
            if isinstance(step, str) and step == "drop":
                continue
            if type(step) is OrdinalEncoder and len(step.categories_) != count:
                raise Refused("has boosted trees with an encoder of other columns")
            if type(step) not in (OrdinalEncoder, FunctionTransformer):
                raise Refused(f"has boosted trees behind a {type(step).__name__}")
            width += count
    if width != n_features:
        raise Refused("has boosted trees that read other columns than the model takes")
