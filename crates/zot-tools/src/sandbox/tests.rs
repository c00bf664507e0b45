use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

mod asking;
mod commands;
mod files;
mod hints;
mod race;

use zot_process::sandbox::{Access, Policy, Refusal};

use super::ToolSandbox;
use crate::file::Location;
use crate::path::{PathError, PathResolver};
use crate::test_support::{Workspace, directory_outside};

/// A directory to be confined to, and one beside it.
struct Directories {
    _both: tempfile::TempDir,
    inside: PathBuf,
    outside: PathBuf,
}

impl Directories {
    fn new() -> Self {
        let both = directory_outside();
        let root = both.path().canonicalize().unwrap();
        let (inside, outside) = (root.join("inside"), root.join("outside"));
        for directory in [&inside, &outside] {
            fs::create_dir_all(directory.join("sub")).unwrap();
            fs::write(directory.join("file"), "old").unwrap();
        }
        Self {
            _both: both,
            inside,
            outside,
        }
    }

    fn resolver(&self) -> PathResolver {
        self.resolver_at(Policy::jail())
    }

    fn resolver_at(&self, policy: Policy) -> PathResolver {
        let sandbox = ToolSandbox::new(&self.inside, None);
        sandbox.set_policy(policy).unwrap();
        PathResolver::new(&self.inside, None).within(Arc::new(sandbox))
    }
}

#[test]
fn paths_that_lead_out_are_refused() {
    let directories = Directories::new();
    let Directories {
        inside, outside, ..
    } = &directories;
    for (target, link) in [
        (outside.join("file"), "to-file"),
        (outside.clone(), "to-directory"),
        (outside.join("missing"), "to-nothing"),
        (PathBuf::from("../outside"), "relative"),
        (PathBuf::from("relative"), "twice"),
        (PathBuf::from("/proc/self/root"), "to-root"),
        (PathBuf::from("sub/../../outside"), "by-dots"),
    ] {
        symlink(target, inside.join(link)).unwrap();
    }
    let resolver = directories.resolver();
    for requested in [
        "/etc/passwd",
        "/",
        "..",
        "../outside/file",
        "sub/../../outside/file",
        "missing/../../outside/file",
        "to-file",
        "to-directory/file",
        "to-directory/new/deep/file",
        "to-directory/sub/../file",
        "to-nothing",
        "relative/file",
        "twice/file",
        "by-dots/file",
        "to-root/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/fd/0",
        // The name of the directory is the beginning of another's.
        "../inside-out",
        "../insid",
    ] {
        for access in [Access::Read, Access::Write] {
            let refusal = resolver.locate(requested, access);
            assert!(
                matches!(&refusal, Err(PathError::Refused(path)) if path.refusal == Refusal::Outside),
                "{requested}: {refusal:?}"
            );
        }
    }
    let refusal = resolver.locate("/etc/passwd", Access::Read).unwrap_err();
    assert_eq!(
        refusal.to_string(),
        format!(
            "/etc/passwd is outside of the directory zot is confined to, {}; only the user can lift \
             this",
            inside.display()
        )
    );
    let refusal = resolver.locate("to-file", Access::Read).unwrap_err();
    let leads = format!("to-file, which leads to {}/file, is", outside.display());
    assert!(refusal.to_string().contains(&leads), "{refusal}");
}

#[test]
fn paths_that_stay_inside_are_found() {
    let directories = Directories::new();
    let inside = &directories.inside;
    symlink("sub", inside.join("near")).unwrap();
    symlink(inside.join("sub"), inside.join("absolute")).unwrap();
    let resolver = directories.resolver();
    let cases = [
        ("file", "file"),
        (".", ""),
        ("./sub/../file", "file"),
        ("../inside/file", "file"),
        ("near/new", "sub/new"),
        ("absolute/new/deep", "sub/new/deep"),
        ("missing/../file", "file"),
        (inside.to_str().unwrap(), ""),
    ];
    for (requested, expected) in cases {
        match resolver.locate(requested, Access::Write) {
            Ok(Location::Below { root, inside, .. }) => {
                assert_eq!(root, directories.inside, "{requested}");
                assert_eq!(inside, Path::new(expected), "{requested}");
            }
            other => panic!("{requested}: {other:?}"),
        }
    }
}

#[test]
fn a_working_directory_behind_a_link_is_confined_to_what_it_leads_to() {
    let directories = Directories::new();
    let link = directories.outside.join("link");
    symlink(&directories.inside, &link).unwrap();
    let sandbox = Arc::new(ToolSandbox::new(&link, None));
    sandbox.set_policy(Policy::jail()).unwrap();
    assert_eq!(sandbox.directory().as_ref(), Some(&directories.inside));
    let resolver = PathResolver::new(&link, None).within(Arc::clone(&sandbox));
    resolver.locate("file", Access::Write).unwrap();

    // The jail stays where it was, even if the link is changed.
    fs::remove_file(&link).unwrap();
    symlink(&directories.outside, &link).unwrap();
    resolver.locate("file", Access::Read).unwrap_err();
    sandbox.set_policy(Policy::default()).unwrap();
    resolver.locate("file", Access::Read).unwrap();
    sandbox.set_policy(Policy::jail()).unwrap();
    resolver.locate("file", Access::Read).unwrap_err();
}

#[test]
fn a_link_that_is_put_in_the_way_afterwards_ends_it() {
    let directories = Directories::new();
    let Directories {
        inside, outside, ..
    } = &directories;
    let resolver = directories.resolver();
    fs::create_dir(inside.join("sub/deep")).unwrap();
    fs::write(inside.join("sub/deep/file"), "old").unwrap();
    fs::create_dir(outside.join("deep")).unwrap();
    fs::write(outside.join("deep/file"), "secret").unwrap();
    let locate = |path| resolver.locate(path, Access::Write).unwrap();
    let (file, below) = (locate("file"), locate("sub/deep/file"));
    let (fresh, far) = (locate("sub/fresh"), locate("sub/new/fresh"));

    fs::remove_file(inside.join("file")).unwrap();
    symlink(outside.join("file"), inside.join("file")).unwrap();
    fs::remove_dir_all(inside.join("sub")).unwrap();
    symlink(outside, inside.join("sub")).unwrap();
    for location in [file, below, fresh, far] {
        crate::file::open_regular(&location).unwrap_err();
        crate::file::create_private(&location).unwrap_err();
        crate::file::replace(&location, b"new").unwrap_err();
    }
    let mut names: Vec<_> = fs::read_dir(outside)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["deep", "file", "sub"]);
    assert_eq!(fs::read(outside.join("file")).unwrap(), b"old");
    assert_eq!(fs::read(outside.join("deep/file")).unwrap(), b"secret");
}

#[tokio::test]
async fn the_tools_work_inside_and_say_why_they_do_not_outside() {
    let workspace = Workspace::recorded();
    let outside = directory_outside();
    let outside = outside.path().canonicalize().unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    symlink(&outside, workspace.path("out")).unwrap();
    workspace.apply(Policy::jail());

    let refused = [
        ("read", json!({"path": outside.join("secret")})),
        ("read", json!({"path": "out/secret"})),
        ("write", json!({"path": "out/new", "content": "x"})),
        ("write", json!({"path": "out/new/deep", "content": "x"})),
        (
            "edit",
            json!({"path": "out/secret", "edits": [{"oldText": "secret", "newText": "x"}]}),
        ),
    ];
    for (tool, arguments) in &refused {
        let output = workspace.call(tool, arguments.clone()).await;
        let text = output.joined_text();
        assert!(output.is_error, "{tool} {arguments}: {text}");
        assert!(text.contains("is outside of the directory"), "{text}");
        assert!(text.contains("only the user can lift this"), "{text}");
    }
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);

    let done = [
        ("read", json!({"path": "a.txt"})),
        (
            "write",
            json!({"path": "new/deep/file.txt", "content": "made\n"}),
        ),
        (
            "edit",
            json!({"path": "new/deep/file.txt", "edits": [{"oldText": "made", "newText": "changed"}]}),
        ),
        ("read", json!({"path": workspace.path("a.txt")})),
    ];
    for (tool, arguments) in done {
        let output = workspace.call(tool, arguments).await;
        assert!(!output.is_error, "{tool}: {}", output.joined_text());
    }
    assert_eq!(workspace.content("new/deep/file.txt"), b"changed\n");
    let directory = workspace.call("read", json!({"path": "."})).await;
    assert!(directory.joined_text().ends_with("is a directory"));

    workspace.apply(Policy::default());
    let output = workspace.call("read", refused[1].1.clone()).await;
    assert_eq!(output.joined_text(), "secret\n");
}

#[tokio::test]
async fn directories_to_be_read_can_be_read_only() {
    let directories = Directories::new();
    let sandbox =
        ToolSandbox::new(&directories.inside, None).readable(vec![directories.outside.join("sub")]);
    sandbox.set_policy(Policy::jail()).unwrap();
    let resolver = PathResolver::new(&directories.inside, None).within(Arc::new(sandbox));
    let path = directories.outside.join("sub/file");
    let path = path.to_str().unwrap();
    resolver.locate(path, Access::Read).unwrap();
    resolver.locate(path, Access::Write).unwrap_err();
    resolver
        .locate("../outside/file", Access::Read)
        .unwrap_err();
}

#[test]
fn a_directory_that_is_gone_is_no_sandbox() {
    let gone = tempfile::tempdir().unwrap().path().join("gone");
    let sandbox = ToolSandbox::new(&gone, None);
    let error = sandbox.set_policy(Policy::jail()).unwrap_err().to_string();
    assert!(error.starts_with("cannot confine to "), "{error}");
    assert_eq!(sandbox.directory(), None);
    assert_eq!(sandbox.policy(), Policy::default());
}
