"""From nothing to audits, reports, CI, a remedy: as a newcomer types it."""

import sys

import newcomer
import pytest


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="commands of a POSIX shell")
def test_a_newcomer_gets_through():
    newcomer.main()
