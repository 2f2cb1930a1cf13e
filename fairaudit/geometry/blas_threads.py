"""Threads of linear algebra, where they cost more than they bring."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["one_blas_thread"]

_SET_BY_USER = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Small matrix products on one thread, unless the user has set how many.

    On a busy machine threads of a product wait for each other a hundred times longer than they
    compute; results are the same on any number of cores.
    """
    if any(name in os.environ for name in _SET_BY_USER):
        yield
        return
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # scikit-learn brings it
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield
