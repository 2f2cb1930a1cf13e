"""What collection brings in stays for good: the garbage collector need not look at it again.

A million objects of modules and tests take a second to look through, as often as a test imports
something large.
"""

import gc

gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()
