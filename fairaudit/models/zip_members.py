"""Members of zip archives that models come in, checked before anything is unpacked."""

from __future__ import annotations

import stat
import zipfile

from fairaudit.errors import InputError
from fairaudit.models.safe_pickle import first_line, largest_unpacked

__all__ = ["check_members"]


def check_members(members: list[zipfile.ZipInfo], packed: int, name: str) -> None:
    """Refuse archives that unpack to too much, or whose members point out of them."""
    size = sum(part.file_size for part in members)
    if size > largest_unpacked(packed):
        raise InputError(
            f"{name} unpacks to {size // 2**20} MiB from {packed:,} bytes. "
            "Save the model again with less compression if that is meant."
        )
    paths = set()
    for part in members:
        path = part.filename.replace("\\", "/")
        problem = None
        if path.startswith("/") or ":" in path or ".." in path.split("/"):
            problem = "outside of the archive"
        elif stat.S_ISLNK(part.external_attr >> 16):
            problem = "a symbolic link"
        elif path in paths:
            problem = "there twice"
        if problem is not None:
            raise InputError(
                f"{name} has a member {first_line(ValueError(path))!r} that is {problem}. "
                "It looks hostile: get the model from its author again."
            )
        paths.add(path)
