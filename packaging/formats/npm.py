"""npm packages: `zot-agent` with the clients in JavaScript, and one for this platform with the program."""

from __future__ import annotations

import json
import pathlib

from .archive import tar_gz
from .release import PROGRAM_MODE, TARGETS, File, Release

NAME = "zot-agent"
SCOPE = "@zot"


def make(release: Release, output: pathlib.Path) -> list[pathlib.Path]:
    system, processor = release.target.npm
    main = output / f"{NAME}-{release.version}.tgz"
    main.write_bytes(tar_gz(_packed(_main_package(release)), release.epoch))
    platform = output / f"zot-{system}-{processor}-{release.version}.tgz"
    platform.write_bytes(tar_gz(_packed(_platform_package(release)), release.epoch))
    return [main, platform]


def _main_package(release: Release) -> list[File]:
    platforms = sorted({target.npm for target in TARGETS.values()})
    manifest = {
        **_common(release, NAME, "The zot agent: its command, and clients for TypeScript and JavaScript"),
        "type": "module",
        "engines": {"node": ">=18"},
        "bin": {"zot": "bin/zot.js"},
        "types": "./client/index.d.ts",
        "main": "./client/main.js",
        "exports": {
            ".": {"types": "./client/index.d.ts", "default": "./client/main.js"},
            "./ext": {"types": "./ext/index.d.ts", "default": "./ext/main.js"},
            "./ext/testing": {"types": "./ext/testing.d.ts", "default": "./ext/host.js"},
            "./package.json": "./package.json",
        },
        "optionalDependencies": {f"{SCOPE}/{system}-{processor}": release.version for system, processor in platforms},
    }
    return [
        _manifest(manifest),
        File("bin/zot.js", (release.root / "packaging/npm/zot.js").read_bytes(), PROGRAM_MODE),
        File("README.md", release.readme("packaging/npm/README.md")),
        release.text("LICENSE", "LICENSE"),
        *_tree(release, "sdk/typescript/client/src", "client"),
        *_tree(release, "sdk/typescript/src", "ext"),
    ]


def _platform_package(release: Release) -> list[File]:
    system, processor = release.target.npm
    manifest = {
        **_common(release, f"{SCOPE}/{system}-{processor}", f"The zot program for {system} on {processor}; install {NAME}"),
        "os": [system],
        "cpu": [processor],
        "preferUnplugged": True,
    }
    return [_manifest(manifest), release.program("zot"), release.text("LICENSE", "LICENSE")]


def _common(release: Release, name: str, description: str) -> dict:
    repository = {"type": "git", "url": f"git+{release.repository}.git"}
    return {"name": name, "version": release.version, "description": description, "license": "MIT", "repository": repository}


def _manifest(fields: dict) -> File:
    return File("package.json", (json.dumps(fields, indent=2) + "\n").encode())


def _tree(release: Release, source: str, directory: str) -> list[File]:
    root = release.root / source
    return [File(f"{directory}/{path.relative_to(root)}", path.read_bytes()) for path in sorted(root.rglob("*")) if path.is_file()]


def _packed(files: list[File]) -> list[File]:
    return [File(f"package/{file.path}", file.data, file.mode) for file in files]
