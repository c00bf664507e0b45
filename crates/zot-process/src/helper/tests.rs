use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::*;

fn program(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "#!/bin/sh\n").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn programs_in_the_working_directory_are_not_found() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name);
    for name in [
        "project/.venv/bin/git",
        "project/git",
        "project/only",
        "system/git",
        "system/other",
    ] {
        program(&at(name));
    }
    fs::create_dir(at("links")).unwrap();
    symlink(at("project/git"), at("links/git")).unwrap();
    symlink(at("project/.venv/bin"), at("linked")).unwrap();
    symlink(at("project"), at("alias")).unwrap();
    // Neither a directory nor a file without the permission is a program.
    fs::create_dir_all(at("first/git")).unwrap();
    fs::write(at("first/other"), "").unwrap();
    let path = env::join_paths([
        at("project/.venv/bin"),
        PathBuf::new(),
        PathBuf::from("."),
        PathBuf::from("bin"),
        at("system/../project"),
        at("alias/.venv/bin"),
        at("linked"),
        at("missing"),
        at("links"),
        at("first"),
        at("system"),
    ]);
    let path = path.unwrap();
    for workspace in ["project", "alias"] {
        let trusted = TrustedPath::new(&path, &[&at(workspace)]);
        assert_eq!(trusted.find("git").unwrap(), at("system/git"));
        assert_eq!(trusted.find("other").unwrap(), at("system/other"));
        let error = trusted.find("only").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let kept = env::join_paths([at("links"), at("first"), at("system")]);
        assert_eq!(trusted.join(), kept.unwrap());
    }
    let find = |name: &str, writable: &[&Path]| find_outside(name, Some(&path), writable);
    let (project, links) = (at("project"), at("links"));
    // Another one behind it would not be the one that is meant.
    let inside = NamedProgram::Inside(at("project/.venv/bin/git"));
    assert_eq!(find("git", &[&links, &project]), inside);
    let inside = NamedProgram::Inside(at("system/../project/only"));
    assert_eq!(find("only", &[&project]), inside);
    assert_eq!(find("nowhere", &[&project]), NamedProgram::Missing);
    let first = NamedProgram::Outside(at("project/.venv/bin/git"));
    assert_eq!(find("git", &[]), first);
    let elsewhere = TrustedPath::new(&path, &[&at("missing")]);
    assert_eq!(elsewhere.find("git").unwrap(), at("project/.venv/bin/git"));
}

#[test]
fn the_root_excludes_nothing() {
    let trusted = TrustedPath::new(OsStr::new("/usr/bin:/bin"), &[Path::new("/")]);
    assert!(trusted.find("sh").is_ok());
}

#[test]
fn a_helper_starts_no_program_of_the_working_directory_either() {
    let command = helper("sh", Path::new("/nonexistent")).unwrap();
    assert!(Path::new(command.get_program()).is_absolute());
    let path = command.get_envs().find(|(name, _)| *name == "PATH");
    let path = path.unwrap().1.unwrap();
    assert!(env::split_paths(path).all(|directory| directory.is_absolute()));
}
