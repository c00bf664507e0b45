"""A Python wheel: the command `zot` and the modules of sdk/python."""

from __future__ import annotations

import base64
import hashlib
import io
import pathlib
import time
import tomllib
import zipfile

from .release import File, PackagingError, Release

# zip has no earlier times.
MIN_EPOCH = 315532800


def make(release: Release, output: pathlib.Path) -> list[pathlib.Path]:
    project = tomllib.loads((release.root / "sdk/python/pyproject.toml").read_text())["project"]
    name = project["name"].replace("-", "_")
    stem = f"{name}-{release.version}"
    program = release.program("zot")
    files = [*_modules(release), File(f"{stem}.data/scripts/zot", program.data, program.mode)]
    files += [
        File(f"{stem}.dist-info/METADATA", _metadata(release, project).encode()),
        File(f"{stem}.dist-info/WHEEL", _wheel(release).encode()),
        File(f"{stem}.dist-info/LICENSE", (release.root / "LICENSE").read_bytes()),
    ]
    record = f"{stem}.dist-info/RECORD"
    lines = [f"{file.path},sha256={_digest(file.data)},{len(file.data)}\n" for file in files]
    files.append(File(record, ("".join(lines) + f"{record},,\n").encode()))
    path = output / f"{stem}-py3-none-{'.'.join(release.target.wheel)}.whl"
    path.write_bytes(_zip(files, release.epoch))
    return [path]


def _modules(release: Release) -> list[File]:
    source = release.root / "sdk/python"
    paths = [path for package in ("zot", "zot_ext") for path in sorted((source / package).rglob("*"))]
    files = [File(str(path.relative_to(source)), path.read_bytes()) for path in paths if path.suffix in (".py", ".typed")]
    if not files:
        raise PackagingError(f"{source} has no modules")
    return files


def _metadata(release: Release, project: dict) -> str:
    fields = [
        ("Metadata-Version", "2.1"),
        ("Name", project["name"]),
        ("Version", release.version),
        ("Summary", project["description"]),
        ("Home-page", release.repository),
        ("License", project["license"]["text"]),
        ("Keywords", ",".join(project["keywords"])),
        *(("Classifier", classifier) for classifier in project["classifiers"]),
        ("Requires-Python", project["requires-python"]),
        ("Description-Content-Type", "text/markdown"),
    ]
    head = "".join(f"{name}: {value}\n" for name, value in fields)
    return head + "\n" + release.readme("packaging/python/README.md").decode()


def _wheel(release: Release) -> str:
    tags = "".join(f"Tag: py3-none-{platform}\n" for platform in release.target.wheel)
    return f"Wheel-Version: 1.0\nGenerator: zot packaging/release\nRoot-Is-Purelib: false\n{tags}"


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def _zip(files: list[File], epoch: int) -> bytes:
    raw = io.BytesIO()
    moment = time.gmtime(max(epoch, MIN_EPOCH))[:6]
    with zipfile.ZipFile(raw, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in files:
            entry = zipfile.ZipInfo(file.path, moment)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.create_system = 3  # Unix, whose permissions follow.
            entry.external_attr = (0o100000 | file.mode) << 16
            archive.writestr(entry, file.data)
    return raw.getvalue()
