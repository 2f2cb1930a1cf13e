"""The names that a model file may use, and the policy that looks them up."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from fairaudit.errors import InputError
from fairaudit.models.safe_pickle.grants import (
    Absent,
    Grant,
    Omitted,
    Refused,
    add_working_directory,
    attribute,
    module_of,
)
from fairaudit.models.safe_pickle.messages import first_line
from fairaudit.models.safe_pickle.rebuild import (
    CALLS,
    EMPTY,
    NUMBERED,
    attribute_of_omitted,
    by_cython,
    emptied,
    numbered,
    tree,
)

_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


# Estimators are allowed wherever they are defined, but for modules with such a part in their name.
_NEVER = {
    "__main__", "_build_utils", "_mocking", "_plot", "_test_common", "_testing", "callback",
    "conftest", "datasets", "estimator_checks", "experimental", "externals", "parallel", "tests",
}  # fmt: skip

# Where the parts of estimators that are not estimators themselves are defined.
_PARTS = {
    "sklearn._loss.link", "sklearn._loss.loss", "sklearn.calibration", "sklearn.cluster._birch",
    "sklearn.cluster._bisect_k_means", "sklearn.compose._column_transformer",
    "sklearn.ensemble._gb", "sklearn.ensemble._gb_losses",
    "sklearn.ensemble._hist_gradient_boosting.binning",
    "sklearn.ensemble._hist_gradient_boosting.common",
    "sklearn.ensemble._hist_gradient_boosting.predictor", "sklearn.gaussian_process.kernels",
    "sklearn.impute._iterative", "sklearn.linear_model._linear_loss", "sklearn.metrics._scorer",
    "sklearn.model_selection._classification_threshold", "sklearn.model_selection._search",
    "sklearn.model_selection._search_successive_halving",
    "sklearn.model_selection._split", "sklearn.neural_network._stochastic_optimizers",
    "sklearn.utils._bunch", "sklearn.utils._encode", "sklearn.utils._metadata_requests",
    "sklearn.utils._tags",
}  # fmt: skip


# Functions that estimators hold. None of them calls what it is given.
_FUNCTIONS_OF = {
    "sklearn.feature_selection": {
        "chi2", "f_classif", "f_oneway", "f_regression", "mutual_info_classif",
        "mutual_info_regression", "r_regression",
    },
    "sklearn.metrics": {  # what scorers score by, kernels and distances
        "accuracy_score", "additive_chi2_kernel", "adjusted_mutual_info_score",
        "adjusted_rand_score", "average_precision_score", "balanced_accuracy_score",
        "brier_score_loss", "chi2_kernel", "cohen_kappa_score", "completeness_score",
        "cosine_distances", "cosine_similarity", "d2_absolute_error_score", "d2_brier_score",
        "d2_log_loss_score", "d2_pinball_score", "d2_tweedie_score", "euclidean_distances",
        "explained_variance_score", "f1_score", "fbeta_score", "fowlkes_mallows_score",
        "haversine_distances", "homogeneity_score", "jaccard_score", "laplacian_kernel",
        "linear_kernel", "log_loss", "manhattan_distances", "matthews_corrcoef", "max_error",
        "mean_absolute_error", "mean_absolute_percentage_error", "mean_gamma_deviance",
        "mean_pinball_loss", "mean_poisson_deviance", "mean_squared_error",
        "mean_squared_log_error", "mean_tweedie_deviance", "median_absolute_error",
        "mutual_info_score", "nan_euclidean_distances", "ndcg_score",
        "negative_likelihood_ratio", "normalized_mutual_info_score", "polynomial_kernel",
        "positive_likelihood_ratio", "precision_score", "r2_score", "rand_score", "rbf_kernel",
        "recall_score", "roc_auc_score", "root_mean_squared_error",
        "root_mean_squared_log_error", "sigmoid_kernel", "top_k_accuracy_score",
        "v_measure_score",
    },
    "sklearn.preprocessing": {
        "add_dummy_feature", "binarize", "label_binarize", "maxabs_scale", "minmax_scale",
        "normalize", "power_transform", "quantile_transform", "robust_scale", "scale",
    },
}  # fmt: skip
_FUNCTIONS = {
    "sklearn.cluster._kmeans._kmeans_single_elkan", "sklearn.cluster._kmeans._kmeans_single_lloyd",
    "sklearn.utils.validation.check_array", "scipy._lib.array_api_compat.numpy._aliases.asarray",
}  # fmt: skip
_OF_NUMPY = {
    "amax", "amin", "average", "clip", "max", "mean", "median", "min", "nan_to_num", "nanmax",
    "nanmean", "nanmedian", "nanmin", "nansum", "prod", "ravel", "round", "std", "sum", "var",
}  # fmt: skip

# Classes of other packages, filled with their saved state.
_CLASSES = {
    "catboost.core.CatBoostClassifier", "catboost.core.CatBoostRegressor",
    "lightgbm.basic.Booster", "pandas.arrays.ArrowStringArray",
    "scipy.interpolate._bsplines.BSpline", "scipy.interpolate._bsplines._BSpline",
    "xgboost.callback.EarlyStopping", "xgboost.core.Booster",
}  # fmt: skip

# Things that only stand for themselves.
_CONSTANTS = {
    "builtins.Ellipsis", "builtins.NotImplemented", "builtins.bool", "builtins.float",
    "builtins.int", "builtins.object", "builtins.str", "numpy.ma.MaskedArray", "numpy.ndarray",
    "numpy.random._mt19937.MT19937", "numpy.random._pcg64.PCG64",
    "numpy.random._pcg64.PCG64DXSM", "numpy.random._philox.Philox", "numpy.random._sfc64.SFC64",
    "numpy.random.bit_generator.SeedSequence", "pandas.Index", "pandas.RangeIndex",
    "pandas._libs.missing.NA", "pandas.arrays.StringArray",
}  # fmt: skip

# The same things under the names of other versions.
OTHER_MODULES = {"_loss": "sklearn._loss._loss"}  # so called in scikit-learn 1.5 to 1.8
RENAMED = {
    "numpy.ma.core.MaskedArray": "numpy.ma.MaskedArray",
    "numpy.matrix": "numpy.ndarray",
    "numpy.memmap": "numpy.ndarray",
    "numpy.matrixlib.defmatrix.matrix": "numpy.ndarray",
    "pandas.NA": "pandas._libs.missing.NA",
    "pandas.core.arrays.string_.StringArray": "pandas.arrays.StringArray",
    "pandas.core.arrays.string_.StringDtype": "pandas.StringDtype",
    "pandas.core.arrays.string_arrow.ArrowStringArray": "pandas.arrays.ArrowStringArray",
    "pandas.core.indexes.base.Index": "pandas.Index",
    "pandas.core.indexes.range.RangeIndex": "pandas.RangeIndex",
    "sklearn.externals.joblib.numpy_pickle.NumpyArrayWrapper": (
        "joblib.numpy_pickle.NumpyArrayWrapper"
    ),
}


class Policy:
    """The list and the names that the caller trusts; `searched`: distributions are left out."""

    def __init__(self, trust: Iterable[str] = (), *, searched: bool = False) -> None:
        self.trust = frozenset(trust)
        self.searched = searched

    def grant(self, module: str, name: str) -> Grant:
        if f"{module}.{name}" in self.trust:
            return Grant(_import_trusted(module, name), "trust")
        if "." in name or not name.isidentifier() or not _MODULE.fullmatch(module):
            raise Refused
        module = OTHER_MODULES.get(module, module).replace("numpy.core.", "numpy._core.")
        full = RENAMED.get(f"{module}.{name}", f"{module}.{name}")
        if full in CALLS:
            return CALLS[full]
        if full in _CONSTANTS:
            return Grant(attribute(full), "refer")
        if full in _CLASSES:
            return Grant(attribute(full), "make")
        if is_distribution(module, name) or (self.searched and full == "numpy.vectorize"):
            return Grant(Omitted, "omit")
        if self.searched and full == "builtins.getattr":
            return Grant(attribute_of_omitted, "call", attribute_of_omitted)
        package = module.partition(".")[0]
        if package in ("numpy", "scipy"):
            return _numeric(module, name)
        if package in ("sklearn", "xgboost", "lightgbm", "fairaudit"):
            return _estimator_or_part(module, name)
        raise Refused


def is_distribution(module: str, name: str) -> bool:
    return module.startswith("scipy.stats.") and name.endswith(("_gen", "_frozen"))


def _import_trusted(module: str, name: str) -> Any:
    add_working_directory()
    full = f"{module}.{name}"
    try:
        target: Any = import_module(module)
        for part in name.split("."):
            target = getattr(target, part)
    except (ImportError, AttributeError) as error:
        where = (
            "It was defined in a script or notebook: move it to a module and save the model again"
            if module == "__main__"
            else "Run where it can be imported"
        )
        why = first_line(error)
        raise InputError(f"{full} is trusted but not found ({why}). {where}.") from None
    return target


def _numeric(module: str, name: str) -> Grant:
    """Functions and types of numpy and scipy that only compute."""
    if f"{module}.{name}" in _FUNCTIONS:
        return Grant(attribute(f"{module}.{name}"), "refer")
    if module in ("numpy", "numpy._core._multiarray_umath", "numpy._core.umath"):
        target = vars(np).get(name)
        if isinstance(target, np.ufunc) or name in _OF_NUMPY:
            return Grant(target, "refer")
        if isinstance(target, type) and issubclass(target, np.generic):
            return Grant(target, "refer")
    if module.startswith("scipy.special"):
        from scipy import special

        target = vars(special).get(name)
        if isinstance(target, np.ufunc):
            return Grant(target, "refer")
    if module.startswith("scipy.sparse"):
        from scipy import sparse

        target = vars(sparse).get(name)
        if isinstance(target, type) and issubclass(target, (sparse.spmatrix, sparse.sparray)):
            return Grant(target, "make")
    raise Refused


def _estimator_or_part(module: str, name: str) -> Grant:
    package, *parts = module.split(".")
    if _NEVER & set(parts) or any(part.startswith("test_") for part in parts):
        raise Refused
    if package in ("xgboost", "lightgbm") and parts != ["sklearn"]:
        raise Refused
    home = module_of(module)
    target = vars(home).get(name, Absent)
    if target is Absent:
        raise Absent(package)
    full = f"{module}.{name}"
    if module in EMPTY and name == "newObj":
        return Grant(emptied, "call", emptied, fillable=True)
    if module in NUMBERED and name.startswith("__pyx_unpickle_"):
        return Grant(target, "call", functools.partial(by_cython, target, home), fillable=True)
    own = str(getattr(target, "__module__", None))
    if OTHER_MODULES.get(own, own) != module or getattr(target, "__name__", None) != name:
        raise Refused  # something that the module has only imported
    if isinstance(target, FunctionType):
        listed = _FUNCTIONS_OF.get(".".join(["sklearn", *parts[:1]]), ())
        if (package == "sklearn" and name in listed) or full in _FUNCTIONS:
            return Grant(target, "refer")
    elif isinstance(target, type):
        from sklearn.base import BaseEstimator

        if full == "sklearn.tree._tree.Tree":
            return Grant(target, "call", functools.partial(tree, target), fillable=True)
        if module in NUMBERED:
            return Grant(target, "call", functools.partial(numbered, target), fillable=True)
        if module in EMPTY:
            return Grant(target, "refer")
        in_python = bool(target.__flags__ & (1 << 9))  # a heap type, as `class` makes them
        known = issubclass(target, BaseEstimator) or module in _PARTS
        if in_python and known and not hasattr(target, "__del__"):
            return Grant(target, "make")
    raise Refused


def is_allowed(name: str) -> bool:
    """Whether a model may hold this class or function, given as ``module.name``."""
    module, _, last = name.rpartition(".")
    try:
        grant = Policy().grant(module, last)
        if grant.role != "call" and attribute(name) is not grant.value:
            return False  # in a pickle something else takes its place, here it would be used
    except (Refused, Absent):
        return False
    if grant.role == "call":  # numpy.dtype, for one, can only be made safely by this module
        home = OTHER_MODULES.get(module, module)
        compiled = isinstance(grant.value, type) and home.startswith("sklearn.")
        return compiled or name in ("collections.OrderedDict", "functools.partial")
    return grant.role in ("make", "refer")


def is_compiled_number(name: str) -> bool:
    """Whether this is a compiled class that is called with numbers alone."""
    module = name.rpartition(".")[0]
    return OTHER_MODULES.get(module, module) in NUMBERED and is_allowed(name)


def check_trust(trust: Sequence[str]) -> tuple[str, ...]:
    """The names to trust, as given; patterns are refused."""
    names = (trust,) if isinstance(trust, str) else tuple(trust)
    for full in names:
        if "." not in full or not _MODULE.fullmatch(full):
            raise InputError(
                f"Only exact names can be trusted, such as package.module.Class. "
                f"Got {full!r} instead."
            )
    return names
