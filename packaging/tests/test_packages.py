#!/usr/bin/env python3
"""Makes every package around programs that are already built, and installs each as a new user would.

    python3 packaging/tests/test_packages.py
    ZOT_PACKAGES=target/packages python3 packaging/tests/test_packages.py      # packages of a release

The programs are those of ZOT_BINARIES, or target/debug.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

from clean_root import HOME, CleanRoot, has_namespaces  # noqa: E402

RELEASE = ROOT / "packaging/release"
BINARIES = pathlib.Path(os.environ.get("ZOT_BINARIES") or ROOT / "target/debug")
PROGRAMS = ("zot", "zino", "glasspane")
FIRST_ANSWER = ("-p", "--provider", "offline", "list the files here")

PYTHON_PROGRAM = """
import zot, zot_ext
with zot.Client(provider="offline", session="talk.jsonl") as client:
    print(zot.__version__, zot_ext.__version__, client.hello.version, client.ask("count the lines in notes.txt").text)
"""

NODE_PROGRAM = """
import { Client } from "zot-agent";
import { Extension } from "zot-agent/ext";
import { startHost } from "zot-agent/ext/testing";
const client = await Client.start({ provider: "offline" });
const { text } = await client.ask("count the lines in notes.txt");
console.log(typeof Extension, typeof startHost, text);
await client.close();
"""


def machine() -> str:
    return os.uname().machine


def make(binaries: pathlib.Path, output: pathlib.Path, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(RELEASE), "--target", f"{machine()}-unknown-linux-gnu", "--binaries", str(binaries)]
    return subprocess.run([*command, "--output", str(output), *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@functools.cache
def packages() -> tuple[pathlib.Path, tempfile.TemporaryDirectory[str] | None]:
    """Returns the directory of the packages, which are made once."""
    if os.environ.get("ZOT_PACKAGES"):
        return pathlib.Path(os.environ["ZOT_PACKAGES"]).resolve(), None
    temporary = tempfile.TemporaryDirectory(prefix="zot-packages-")
    directory = pathlib.Path(temporary.name)
    stripped = directory / "stripped"
    stripped.mkdir()
    for name in PROGRAMS:
        # Debug information would take most of the time.
        if shutil.which("strip") is None or subprocess.run(["strip", "-o", stripped / name, BINARIES / name]).returncode != 0:
            shutil.copy2(BINARIES / name, stripped / name)
    done = make(stripped, directory / "packages")
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return directory / "packages", temporary


class Packages(unittest.TestCase):
    @property
    def packages(self) -> pathlib.Path:
        return packages()[0]

    def one(self, pattern: str) -> pathlib.Path:
        found = sorted(self.packages.glob(pattern))
        self.assertEqual(len(found), 1, f"{pattern}: {found}")
        return found[0]

    def check(self, done: subprocess.CompletedProcess[str], expected: str) -> None:
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn(expected, done.stdout, done.stderr)


class Contents(Packages):
    def test_checksums_cover_every_package(self) -> None:
        lines = dict(reversed(line.split("  ")) for line in (self.packages / "SHA256SUMS").read_text().splitlines())
        files = {path.name for path in self.packages.iterdir()} - {"SHA256SUMS"}
        self.assertEqual(set(lines), files)
        for name, digest in lines.items():
            self.assertEqual(hashlib.sha256((self.packages / name).read_bytes()).hexdigest(), digest, name)

    def test_the_bill_of_materials_is_consistent(self) -> None:
        document = json.loads(self.one("*.cdx.json").read_text())
        self.assertEqual((document["bomFormat"], document["specVersion"], document["version"]), ("CycloneDX", "1.5", 1))
        self.assertRegex(document["serialNumber"], r"^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        self.assertRegex(document["metadata"]["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        components = {component["bom-ref"]: component for component in document["components"]}
        self.assertEqual(len(components), len(document["components"]))
        names = {component["name"] for component in components.values()}
        self.assertTrue({"zot-cli", "zino", "glasspane", "rustls", "tokio"} <= names)
        # Used by tests only.
        self.assertTrue(names.isdisjoint({"testkit", "proptest", "vt100", "tempfile"}), names)
        for component in components.values():
            self.assertEqual(component["purl"], f"pkg:cargo/{component['name']}@{component['version']}")
            self.assertTrue(component["licenses"][0]["expression"], component)
            is_ours = component["name"].startswith(("zot-", "zino-")) or component["name"] in PROGRAMS
            self.assertEqual("hashes" in component, not is_ours, component)
        references = {document["metadata"]["component"]["bom-ref"], *components}
        self.assertEqual({entry["ref"] for entry in document["dependencies"]}, references)
        for entry in document["dependencies"]:
            self.assertTrue(set(entry["dependsOn"]) <= references, entry)

    def test_the_repository_address_has_one_place(self) -> None:
        address = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["repository"]
        done = subprocess.run(["git", "grep", "-lF", address, "--", ":!*.md"], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        if done.returncode <= 1:  # A source archive has no repository.
            self.assertEqual(done.stdout.split(), ["Cargo.toml"])


class Making(unittest.TestCase):
    """The release script with programs that do nothing."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory(prefix="zot-making-")
        self.addCleanup(temporary.cleanup)
        self.directory = pathlib.Path(temporary.name)
        self.programs = self.directory / "programs"
        self.programs.mkdir()
        for name in PROGRAMS:
            shutil.copy2(shutil.which("true") or "/bin/true", self.programs / name)

    def test_the_same_programs_give_the_same_packages(self) -> None:
        sums = []
        for name in ("first", "second"):
            done = make(self.programs, self.directory / name, "--native", str(BINARIES / "zot"))
            self.assertEqual(done.returncode, 0, done.stderr)
            sums.append((self.directory / name / "SHA256SUMS").read_text())
        self.assertEqual(*sums)

    def test_a_dynamic_program_is_no_static_package(self) -> None:
        done = make(self.programs, self.directory / "out", "--target", f"{machine()}-unknown-linux-musl")
        self.assertEqual(done.returncode, 1)
        self.assertIn("is not a static program", done.stderr)

    def test_mistakes_are_explained(self) -> None:
        for flags, message in (
            (("--target", "sparc-sun-solaris"), "unknown target sparc-sun-solaris: expected one of x86_64-"),
            (("--binaries", str(self.directory)), "does not exist: build it"),
        ):
            done = make(self.programs, self.directory / "out", *flags)
            self.assertEqual(done.returncode, 1)
            self.assertIn(message, done.stderr)
            self.assertNotIn("Traceback", done.stderr)


@unittest.skipUnless(has_namespaces(), "unprivileged user namespaces are not available: packages are not installed in a clean root")
class Installed(Packages):
    """Each package in a root of its own, as a new user with an empty home, without a network."""

    def setUp(self) -> None:
        self.root = CleanRoot()
        self.addCleanup(self.root.close)
        (self.home / "work").mkdir()

    @property
    def home(self) -> pathlib.Path:
        return self.root.path / HOME[1:]

    def use_system(self, program: str) -> str:
        """Shows the host's base system and the installation of an interpreter, whose path is returned."""
        # Debian's awk is a link to there.
        self.root.bind("/usr", "/etc/alternatives")
        path = pathlib.Path(os.path.realpath(shutil.which(program) or program))
        if not path.is_relative_to("/usr"):
            self.root.bind(str(path.parent.parent))
        return str(path)

    def check_programs(self, directory: str) -> None:
        """Runs the programs of the package and gets the first answer, in a root with a shell and `ls`."""
        where = self.root.path / directory.lstrip("/")
        self.root.copy_libraries(*(where / name for name in PROGRAMS))
        for name in PROGRAMS:
            self.check(self.root.run(f"{directory}/{name}", "--version"), f"{name} 0.")
        hello = self.root.run(f"{directory}/zot", "-p", "--provider", "offline", "hello")
        self.check(hello, "offline")
        self.root.copy_programs("/bin/bash", "/bin/sh", "ls")
        (self.home / "work/notes.txt").write_text("buy milk\ncall Ada\n")
        self.check(self.root.run(f"{directory}/zot", *FIRST_ANSWER, cwd=f"{HOME}/work"), "notes.txt")
        self.assertEqual(len(list(self.home.rglob("*.jsonl"))), 2, "zot keeps its sessions in the home")

    def test_the_archive(self) -> None:
        archive = self.one("zot-*.tar.gz")
        subprocess.run(["tar", "-xzf", archive, "-C", self.root.path / "home/ada"], check=True)
        name = archive.name.removesuffix(".tar.gz")
        self.check_programs(f"{HOME}/{name}/bin")
        share = self.home / name / "share"
        self.assertIn(".TH zot 1", (share / "man/man1/zot.1").read_text())
        self.assertIn("_zot()", (share / "bash-completion/completions/zot").read_text())
        self.assertIn("MIT", (share / "doc/zot/LICENSE").read_text())

    @unittest.skipUnless(shutil.which("dpkg"), "dpkg is not installed: the Debian package is not tried")
    def test_the_debian_package(self) -> None:
        package = self.one("*.deb")
        described = subprocess.run(["dpkg-deb", "--field", package, "Depends"], stdout=subprocess.PIPE, text=True, check=True)
        needed = re.findall(r"[a-z][\w.+-]*", described.stdout)
        self.make_database(needed)
        before = self.files()
        self.dpkg("--install", str(package))
        self.assertIn("ExecStart=/usr/bin/zino", (self.root.path / "usr/lib/systemd/system/zino.service").read_text())
        installed = self.files() - before
        self.check_programs("/usr/bin")
        self.dpkg("--remove", "zot-agent")
        left = {name for name in installed if (self.root.path / name).exists() and "var/lib/dpkg" not in name}
        self.assertEqual(left, set())

    def make_database(self, installed: list[str]) -> None:
        """Makes the database of dpkg, in which only these packages are installed."""
        directory = self.root.path / "var/lib/dpkg"
        for name in ("info", "updates", "triggers"):
            (directory / name).mkdir(parents=True)
        architecture = subprocess.run(["dpkg", "--print-architecture"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        stanzas = [
            f"Package: {name}\nStatus: install ok installed\nVersion: 99\nArchitecture: {architecture}\nMaintainer: nobody\nDescription: -\n\n"
            for name in installed
        ]
        (directory / "status").write_text("".join(stanzas))
        for name in installed:
            (directory / "info" / f"{name}.list").write_text("/.\n")

    def dpkg(self, *arguments: str) -> None:
        command = ["dpkg", f"--root={self.root.path}", "--force-not-root", "--force-script-chrootless", *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)

    def files(self) -> set[str]:
        return {str(path.relative_to(self.root.path)) for path in self.root.path.rglob("*") if path.is_file()}

    def test_the_wheel(self) -> None:
        python = self.use_system(sys.executable)
        wheel = shutil.copy2(self.one("*.whl"), self.home)
        self.check(self.root.run(python, "-m", "venv", "venv"), "")
        pip = f"{HOME}/venv/bin/pip"
        name = pathlib.Path(wheel).name
        self.check(self.root.run(pip, "install", "--no-index", "--disable-pip-version-check", name), "Successfully installed zot-agent")
        self.root.copy_libraries(self.home / "venv/bin/zot")
        (self.home / "work/notes.txt").write_text("buy milk\ncall Ada\n")
        self.check(self.root.run(f"{HOME}/venv/bin/zot", *FIRST_ANSWER, cwd=f"{HOME}/work"), "notes.txt")
        # The environment is not activated: the module finds the program that was installed with it.
        (self.home / "work/program.py").write_text(PYTHON_PROGRAM)
        done = self.root.run(f"{HOME}/venv/bin/python", "program.py", cwd=f"{HOME}/work")
        self.check(done, "notes.txt has 2 lines.")
        self.assertEqual(len(set(done.stdout.split()[:3])), 1, done.stdout)
        self.check(self.root.run(pip, "check", "--disable-pip-version-check"), "No broken requirements")
        self.check(self.root.run(pip, "uninstall", "--yes", "zot-agent"), "Successfully uninstalled")
        self.assertFalse((self.home / "venv/bin/zot").exists())
        self.assertEqual(list((self.home / "venv").rglob("site-packages/zot*")), [])

    @unittest.skipUnless(shutil.which("npm"), "npm is not installed: the npm packages are not tried")
    def test_the_npm_packages(self) -> None:
        node = self.use_system("node")
        npm = os.path.realpath(shutil.which("npm") or "npm")
        platform_package = "@zot/linux-" + {"x86_64": "x64", "aarch64": "arm64"}[machine()]
        packages = [shutil.copy2(path, self.home).rsplit("/", 1)[1] for path in (self.one("zot-agent-*.tgz"), self.one("zot-linux-*.tgz"))]
        project = f"{HOME}/work"
        (self.home / "work/package.json").write_text('{ "private": true, "type": "module" }')
        install = ["install", "--offline", "--no-audit", "--no-fund", *(f"../{name}" for name in packages)]
        self.check(self.root.run(node, npm, *install, cwd=project), "added 2 packages")
        (self.home / "work/notes.txt").write_text("buy milk\ncall Ada\n")
        npx = os.path.join(os.path.dirname(npm), "npx-cli.js")
        self.check(self.root.run(node, npx, "--offline", "zot", *FIRST_ANSWER, cwd=project), "notes.txt")
        self.check(self.root.run(node, npx, "--offline", "zot-agent", "--version", cwd=project), "zot 0.")
        (self.home / "work/program.js").write_text(NODE_PROGRAM)
        self.check(self.root.run(node, "program.js", cwd=project), "function function notes.txt has 2 lines.")
        self.check(self.root.run(node, npm, "uninstall", "--offline", "zot-agent", platform_package, cwd=project), "removed 2 packages")


if __name__ == "__main__":
    unittest.main()
