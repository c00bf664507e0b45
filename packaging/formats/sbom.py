"""A bill of materials in CycloneDX 1.5: every crate that is compiled into the programs."""

from __future__ import annotations

import datetime
import json
import pathlib
import subprocess
import tomllib
import uuid

from .release import PROGRAMS, PackagingError, Release


def make(release: Release, output: pathlib.Path) -> list[pathlib.Path]:
    path = output / f"zot-{release.version}-{release.target.triple}.cdx.json"
    path.write_text(json.dumps(document(release), indent=1) + "\n")
    return [path]


def document(release: Release) -> dict:
    metadata = _metadata(release)
    packages = {package["id"]: package for package in metadata["packages"]}
    edges = {node["id"]: _linked(node) for node in metadata["resolve"]["nodes"]}
    roots = [package["id"] for package in packages.values() if _programs(package)]
    reached = _reachable(roots, edges)
    checksums = _checksums(release)
    moment = datetime.datetime.fromtimestamp(release.epoch, datetime.timezone.utc)
    name = f"zot-{release.version}-{release.target.triple}"
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{release.repository}/{name}/{release.epoch}')}",
        "version": 1,
        "metadata": {
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": name, "name": "zot", "version": release.version},
        },
        "components": [_component(packages[identity], checksums) for identity in sorted(reached)],
        "dependencies": [{"ref": name, "dependsOn": sorted(_reference(packages[identity]) for identity in roots)}]
        + [
            {"ref": _reference(packages[identity]), "dependsOn": sorted(_reference(packages[other]) for other in edges[identity])}
            for identity in sorted(reached)
        ],
    }


def _metadata(release: Release) -> dict:
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", release.target.triple]
    done = subprocess.run(command, cwd=release.root, stdout=subprocess.PIPE)
    if done.returncode != 0:
        raise PackagingError("cargo metadata failed")
    return json.loads(done.stdout)


def _linked(node: dict) -> list[str]:
    """Returns the dependencies that end up in a program: not those of tests and build scripts."""
    return [entry["pkg"] for entry in node["deps"] if any(kind["kind"] is None for kind in entry["dep_kinds"])]


def _programs(package: dict) -> bool:
    is_ours = package["source"] is None
    return is_ours and any(target["name"] in PROGRAMS and "bin" in target["kind"] for target in package["targets"])


def _reachable(roots: list[str], edges: dict[str, list[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = list(roots)
    while waiting:
        identity = waiting.pop()
        if identity not in reached:
            reached.add(identity)
            waiting += edges[identity]
    return reached


def _checksums(release: Release) -> dict[tuple[str, str], str]:
    locked = tomllib.loads((release.root / "Cargo.lock").read_text())["package"]
    return {(entry["name"], entry["version"]): entry["checksum"] for entry in locked if "checksum" in entry}


def _reference(package: dict) -> str:
    return f"pkg:cargo/{package['name']}@{package['version']}"


def _component(package: dict, checksums: dict[tuple[str, str], str]) -> dict:
    reference = _reference(package)
    component = {"type": "library", "bom-ref": reference, "name": package["name"], "version": package["version"], "purl": reference}
    if package["license"]:
        # Older crates separate licences with a slash.
        component["licenses"] = [{"expression": package["license"].replace("/", " OR ")}]
    checksum = checksums.get((package["name"], package["version"]))
    if checksum is not None:
        component["hashes"] = [{"alg": "SHA-256", "content": checksum}]
    return component
