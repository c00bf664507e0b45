"""An archive to unpack anywhere, or into a prefix such as /usr/local. `cargo binstall` expects its name and layout."""

from __future__ import annotations

import dataclasses
import pathlib

from .archive import tar_gz
from .release import Release


def make(release: Release, output: pathlib.Path) -> list[pathlib.Path]:
    name = f"zot-{release.version}-{release.target.triple}"
    files = release.programs() + release.documentation("share/doc/zot")
    files = [dataclasses.replace(file, path=f"{name}/{file.path}") for file in files]
    path = output / f"{name}.tar.gz"
    path.write_bytes(tar_gz(files, release.epoch))
    return [path]
