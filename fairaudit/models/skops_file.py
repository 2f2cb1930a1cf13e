"""Files of skops, under the same allow-list as pickles."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from fairaudit.errors import FairAuditError, InputError, MissingDependencyError
from fairaudit.models.answers import library
from fairaudit.safe_pickle import (
    add_working_directory,
    first_line,
    is_allowed,
    largest_unpacked,
    refusal,
)


def open_skops(data: bytes, name: str, trust: tuple[str, ...]) -> Any:
    skops_io = library("skops.io", name, '"fairaudit-icp[skops]"')
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
        if size > largest_unpacked(len(data)):
            raise InputError(
                f"{name} unpacks to {size // 2**20} MiB from {len(data):,} bytes. "
                "Save the model again with less compression if that is meant."
            )
        needed = [str(full) for full in skops_io.get_untrusted_types(data=data)]
        refused = [full for full in needed if full not in trust and not is_allowed(full)]
        if refused:
            raise InputError(refusal(name, refused))
        if trust:
            add_working_directory()
        return skops_io.loads(data, trusted=needed)
    except MissingDependencyError as error:
        raise MissingDependencyError(f"{name}: {error}") from None
    except FairAuditError:
        raise
    except Exception as error:
        raise InputError(
            f"{name} cannot be read as a skops file: {first_line(error)}. Save the model again."
        ) from None
