"""What is packaged: the version, the target, and the files with the paths they are installed to."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import struct
import subprocess
import tomllib

PROGRAMS = ("zot", "zino", "glasspane")

PROGRAM_MODE = 0o755
TEXT_MODE = 0o644


class PackagingError(Exception):
    """A package cannot be made; the message says what to do."""


@dataclasses.dataclass(frozen=True)
class Target:
    """A platform, under the names that each package format has for it."""

    triple: str
    wheel: tuple[str, ...]
    npm: tuple[str, str]
    debian: str | None = None

    @property
    def is_static(self) -> bool:
        return "musl" in self.triple


# Static programs need no C library, so their wheels fit every Linux that pip knows.
TARGETS = {
    target.triple: target
    for target in (
        Target(
            "x86_64-unknown-linux-musl",
            ("manylinux_2_17_x86_64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"),
            ("linux", "x64"),
            "amd64",
        ),
        Target(
            "aarch64-unknown-linux-musl",
            ("manylinux_2_17_aarch64", "manylinux2014_aarch64", "musllinux_1_1_aarch64"),
            ("linux", "arm64"),
            "arm64",
        ),
        # Builds for this machine only: they need its C library.
        Target("x86_64-unknown-linux-gnu", ("linux_x86_64",), ("linux", "x64"), "amd64"),
        Target("aarch64-unknown-linux-gnu", ("linux_aarch64",), ("linux", "arm64"), "arm64"),
        Target("x86_64-apple-darwin", ("macosx_10_12_x86_64",), ("darwin", "x64")),
        Target("aarch64-apple-darwin", ("macosx_11_0_arm64",), ("darwin", "arm64")),
    )
}


@dataclasses.dataclass(frozen=True)
class File:
    """A file of a package; its path is relative to the installation prefix, such as /usr."""

    path: str
    data: bytes
    mode: int = TEXT_MODE


@dataclasses.dataclass(frozen=True)
class Release:
    root: pathlib.Path
    version: str
    repository: str
    target: Target
    binaries: pathlib.Path
    # A zot that runs on this machine.
    native: pathlib.Path
    # The time of all files, in seconds since 1970.
    epoch: int

    @classmethod
    def read(cls, root: pathlib.Path, target: Target, binaries: pathlib.Path, native: pathlib.Path, epoch: int) -> Release:
        package = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]
        release = cls(root, package["version"], package["repository"], target, binaries, native, epoch)
        release._check_versions()
        for program in PROGRAMS:
            release._check_program(program)
        return release

    def program(self, name: str) -> File:
        return File(f"bin/{name}", (self.binaries / name).read_bytes(), PROGRAM_MODE)

    def programs(self) -> list[File]:
        return [self.program(name) for name in PROGRAMS]

    def text(self, source: str, path: str) -> File:
        return File(path, (self.root / source).read_bytes())

    def readme(self, source: str) -> bytes:
        """Returns a README of a package, with the repository's address."""
        return (self.root / source).read_text().replace("{{repository}}", self.repository).encode()

    def documentation(self, directory: str) -> list[File]:
        """Manual pages, completions and the licence."""
        manual = self._print("man")
        commands = sorted(set(re.findall(r"zot\\?-(\w+)\(1\)", manual)))
        if not commands:
            raise PackagingError("`zot man` lists no commands")
        pages = [File("share/man/man1/zot.1", manual.encode())]
        pages += [File(f"share/man/man1/zot-{name}.1", self._print("man", name).encode()) for name in commands]
        completions = [
            File("share/bash-completion/completions/zot", self._print("completions", "bash").encode()),
            File("share/zsh/site-functions/_zot", self._print("completions", "zsh").encode()),
            File("share/fish/vendor_completions.d/zot.fish", self._print("completions", "fish").encode()),
        ]
        texts = [self.text(name, f"{directory}/{name}") for name in ("LICENSE", "README.md", "CHANGELOG.md")]
        return pages + completions + texts

    def _print(self, *arguments: str) -> str:
        command = [str(self.native.resolve()), *arguments]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={"HOME": "/nonexistent"})
        except OSError as error:
            raise PackagingError(f"cannot run {command[0]}: {error}; pass a zot for this machine as --native PATH") from error
        if done.returncode != 0:
            raise PackagingError(f"{' '.join(command)} failed")
        return done.stdout

    def _check_versions(self) -> None:
        """Fails unless the SDKs have the version of the programs."""
        found = {"sdk/python/zot/version.py": r'__version__ = "(.+)"', "sdk/python/zot_ext/__init__.py": r'__version__ = "(.+)"'}
        found |= {f"sdk/typescript/{name}package.json": r'"version": "(.+)"' for name in ("", "client/")}
        for path, pattern in found.items():
            match = re.search(pattern, (self.root / path).read_text())
            if match is None or match[1] != self.version:
                raise PackagingError(f"{path} has version {match[1] if match else 'none'}, Cargo.toml has {self.version}")

    def _check_program(self, name: str) -> None:
        path = self.binaries / name
        if not path.is_file():
            raise PackagingError(f"{path} does not exist: build it, or leave out --binaries")
        if self.target.is_static and needs_loader(path.read_bytes()):
            raise PackagingError(f"{path} is not a static program, which {self.target.triple} has to be")


def needs_loader(program: bytes) -> bool:
    """Returns whether an ELF file names a dynamic loader (PT_INTERP)."""
    if program[:4] != b"\x7fELF":
        raise PackagingError("expected an ELF program")
    (offset,) = struct.unpack_from("<Q", program, 32)
    size, count = struct.unpack_from("<HH", program, 54)
    return any(struct.unpack_from("<I", program, offset + index * size)[0] == 3 for index in range(count))
