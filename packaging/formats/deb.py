"""A Debian package with the programs, their documentation and the systemd units of zino."""

from __future__ import annotations

import dataclasses
import gzip
import hashlib
import pathlib

from .archive import tar_gz
from .release import File, Release

PACKAGE = "zot-agent"


def make(release: Release, output: pathlib.Path) -> list[pathlib.Path]:
    if release.target.debian is None:
        return []
    documentation = [_as_debian_has_it(file, release.epoch) for file in release.documentation(f"share/doc/{PACKAGE}")]
    files = [dataclasses.replace(file, path=f"usr/{file.path}") for file in release.programs() + documentation]
    files += _units(release)
    sums = "".join(f"{hashlib.md5(file.data).hexdigest()}  {file.path}\n" for file in files)
    control = [File("control", _control(release, files).encode()), File("md5sums", sums.encode())]
    members = {
        "debian-binary": b"2.0\n",
        "control.tar.gz": tar_gz(control, release.epoch),
        "data.tar.gz": tar_gz(files, release.epoch),
    }
    path = output / f"{PACKAGE}_{release.version}_{release.target.debian}.deb"
    path.write_bytes(b"!<arch>\n" + b"".join(_member(name, data, release.epoch) for name, data in members.items()))
    return [path]


def _control(release: Release, files: list[File]) -> str:
    fields = {
        "Package": PACKAGE,
        "Version": release.version,
        "Architecture": release.target.debian,
        "Maintainer": "zot contributors <noreply@example.invalid>",
        "Installed-Size": str(sum(len(file.data) for file in files) // 1024),
        "Depends": None if release.target.is_static else "libc6, libgcc-s1",
        "Recommends": "ca-certificates, git",
        "Section": "devel",
        "Priority": "optional",
        "Homepage": release.repository,
        "Description": "agent that people embed, extend and watch\n"
        " zot runs language models with tools in a terminal, in scripts and in other\n"
        " programs. zino runs the same agent as services, glasspane watches many agents.",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items() if value is not None)


def _units(release: Release) -> list[File]:
    """Returns the units of packaging/systemd, with the path of this package. Nothing enables them."""
    source = release.root / "packaging/systemd"
    units = [
        File(f"usr/lib/systemd/system/{path.name}", path.read_bytes().replace(b"/usr/local/bin/", b"/usr/bin/"))
        for path in sorted([*source.glob("*.service"), *source.glob("*.target")])
    ]
    return [
        *units,
        File("usr/lib/sysusers.d/zino.conf", (source / "zino-sysusers.conf").read_bytes()),
        File("usr/lib/tmpfiles.d/zino.conf", (source / "zino-tmpfiles.conf").read_bytes()),
    ]


def _as_debian_has_it(file: File, epoch: int) -> File:
    """Follows Debian's rules for paths, and compresses manual pages."""
    path = file.path.replace("share/zsh/site-functions", "share/zsh/vendor-completions").replace("/LICENSE", "/copyright")
    if "/man/" in path:
        return File(f"{path}.gz", gzip.compress(file.data, 9, mtime=epoch))
    return dataclasses.replace(file, path=path)


def _member(name: str, data: bytes, epoch: int) -> bytes:
    header = f"{name:<16}{epoch:<12}{0:<6}{0:<6}{'100644':<8}{len(data):<10}`\n"
    return header.encode("ascii") + data + b"\n" * (len(data) % 2)
