"""Archives with the same bytes for the same files: fixed times, owners and order."""

from __future__ import annotations

import gzip
import io
import pathlib
import tarfile
from collections.abc import Iterable

from .release import PROGRAM_MODE, File


def tar_gz(files: Iterable[File], epoch: int) -> bytes:
    """Packs files and their directories."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.GNU_FORMAT) as archive:
        directories: set[str] = set()
        for file in sorted(files, key=lambda file: file.path):
            for parent in reversed(pathlib.PurePosixPath(file.path).parents):
                name = str(parent)
                if name not in (".", "/") and name not in directories:
                    directories.add(name)
                    archive.addfile(_entry(name, epoch, PROGRAM_MODE, tarfile.DIRTYPE))
            entry = _entry(file.path, epoch, file.mode, tarfile.REGTYPE)
            entry.size = len(file.data)
            archive.addfile(entry, io.BytesIO(file.data))
    return gzip.compress(raw.getvalue(), 6, mtime=epoch)


def _entry(name: str, epoch: int, mode: int, kind: bytes) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.type, entry.mode, entry.mtime = kind, mode, epoch
    entry.uname = entry.gname = "root"
    return entry
