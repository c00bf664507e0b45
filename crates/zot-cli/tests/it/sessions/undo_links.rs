//! Undo affects only the changed files: not links, hard links, pipes and other files that
//! have replaced them since.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::Project;

/// A project whose `d/old.txt` was changed and whose `d/new.txt` was made by `write`, beside a
/// directory outside the project.
struct Changed {
    origin: Project,
    outside: PathBuf,
}

impl Changed {
    fn new() -> Self {
        let origin = Project::new();
        origin.workdir.write("d/old.txt", "before");
        origin.workdir.write("bystander.txt", "before");
        let calls = json!([
            {"name": "write", "args": {"path": "d/old.txt", "content": "after"}},
            {"name": "write", "args": {"path": "d/new.txt", "content": "after"}},
            {"name": "write", "args": {"path": "bystander.txt", "content": "after"}},
        ]);
        origin.prompt(&[&format!("multi:{calls}")]);
        let outside = origin.workdir.parent().join("outside");
        fs::create_dir(&outside).unwrap();
        for name in ["old.txt", "new.txt"] {
            // The content is what the tool wrote, so that only the file's identity differs.
            fs::write(outside.join(name), "after").unwrap();
        }
        Self { origin, outside }
    }

    fn project(&self, name: &str) -> PathBuf {
        self.origin.workdir.path().join(name)
    }

    fn outside(&self, name: &str) -> PathBuf {
        self.outside.join(name)
    }

    fn undo(&self, force: bool) -> Value {
        let zot = self.origin.zot().arguments(["sessions", "undo", "--json"]);
        let ended = zot.arguments(force.then_some("--force")).run("");
        assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Returns the outcome of the file and its reason.
    fn outcome(report: &Value, name: &str) -> (String, String) {
        let files = report["files"].as_array().unwrap();
        let file = files
            .iter()
            .find(|file| Path::new(file["path"].as_str().unwrap()).ends_with(name))
            .unwrap_or_else(|| panic!("{name}: {report}"));
        let word = |key: &str| file[key].as_str().unwrap_or_default().to_owned();
        (word("outcome"), word("detail"))
    }

    /// Checks that both files are refused for this reason, even with `--force`, and the third is
    /// restored.
    fn assert_refused(&self, reason: &str) {
        for force in [false, true] {
            let report = self.undo(force);
            for name in ["d/old.txt", "d/new.txt"] {
                let (outcome, detail) = Self::outcome(&report, name);
                assert_eq!(outcome, "refused", "{report}");
                assert!(detail.contains(reason), "{detail}");
            }
            assert_eq!(read(&self.project("bystander.txt")), "before");
        }
        self.assert_outside_untouched();
    }

    fn assert_outside_untouched(&self) {
        for name in ["old.txt", "new.txt"] {
            assert_eq!(read(&self.outside(name)), "after", "{name}");
        }
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

#[test]
fn files_replaced_by_links_are_refused() {
    let changed = Changed::new();
    for name in ["old.txt", "new.txt"] {
        let path = changed.project("d").join(name);
        fs::remove_file(&path).unwrap();
        symlink(changed.outside(name), &path).unwrap();
    }
    changed.assert_refused("is a symbolic link");
}

#[test]
fn a_directory_replaced_by_a_link_is_refused() {
    let changed = Changed::new();
    fs::rename(changed.project("d"), changed.project("moved")).unwrap();
    symlink(&changed.outside, changed.project("d")).unwrap();
    changed.assert_refused("d is a symbolic link");
    assert_eq!(read(&changed.project("moved/old.txt")), "after");
}

#[test]
fn pipes_and_directories_in_place_of_files_are_refused() {
    let changed = Changed::new();
    for name in ["d/old.txt", "d/new.txt"] {
        fs::remove_file(changed.project(name)).unwrap();
    }
    let pipe = changed.project("d/old.txt");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    fs::create_dir(changed.project("d/new.txt")).unwrap();
    changed.assert_refused("expected a regular file");
}

#[test]
fn a_hard_link_to_another_file_is_refused_and_never_written_through() {
    let changed = Changed::new();
    for name in ["old.txt", "new.txt"] {
        let path = changed.project("d").join(name);
        fs::remove_file(&path).unwrap();
        fs::hard_link(changed.outside(name), &path).unwrap();
    }
    let report = changed.undo(false);
    for name in ["d/old.txt", "d/new.txt"] {
        let (outcome, detail) = Changed::outcome(&report, name);
        assert_eq!(outcome, "refused", "{report}");
        assert!(detail.contains("hard link"), "{detail}");
    }
    changed.assert_outside_untouched();
    // `--force` applies to the name in the project, not to the file behind it.
    changed.origin.sessions(&["undo", "--force"]);
    assert_eq!(read(&changed.project("d/old.txt")), "before");
    assert!(!changed.project("d/new.txt").exists());
    changed.assert_outside_untouched();
}

#[test]
fn only_names_that_existed_before_are_restored() {
    let origin = Project::new();
    origin.workdir.write("one.txt", "before");
    origin.workdir.write("two.txt", "before");
    let at = |name: &str| origin.workdir.path().join(name);
    fs::hard_link(at("two.txt"), at("two-as-well.txt")).unwrap();
    let calls = json!([
        {"name": "write", "args": {"path": "one.txt", "content": "after"}},
        {"name": "write", "args": {"path": "two.txt", "content": "after"}},
    ]);
    origin.prompt(&[&format!("multi:{calls}")]);
    assert_eq!(read(&at("two-as-well.txt")), "after");
    fs::hard_link(at("one.txt"), at("added.txt")).unwrap();
    origin.sessions(&["undo"]);
    assert_eq!(read(&at("one.txt")), "before");
    assert_eq!(read(&at("added.txt")), "after");
    assert_eq!(read(&at("two.txt")), "before");
    assert_eq!(read(&at("two-as-well.txt")), "before");
}

#[test]
fn a_deleted_file_is_restored_with_its_permissions_if_forced() {
    let origin = Project::new();
    origin.workdir.write("deep/er/secret.txt", "before");
    let path = origin.workdir.path().join("deep/er/secret.txt");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    origin.prompt(&["tool:write:{\"path\":\"deep/er/secret.txt\",\"content\":\"after\"}"]);
    fs::remove_dir_all(origin.workdir.path().join("deep")).unwrap();
    let left = origin.zot().arguments(["sessions", "undo"]).run("");
    assert!(left.stdout.contains("changed since"), "{}", left.stdout);
    assert!(!path.exists());
    origin.sessions(&["undo", "--force"]);
    assert_eq!(read(&path), "before");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn undo_works_in_a_project_reached_through_a_link() {
    let origin = Project::new();
    let alias = origin.workdir.parent().join("alias");
    symlink(origin.workdir.path(), &alias).unwrap();
    let path = json!({"path": alias.join("a.txt"), "content": "after"});
    let before = origin.workdir.read("a.txt");
    origin.prompt(&[&format!("tool:write:{path}")]);
    assert_eq!(origin.workdir.read("a.txt").as_deref(), Some("after"));
    origin.sessions(&["undo"]);
    assert_eq!(origin.workdir.read("a.txt"), before);
}

#[test]
fn checkpoints_are_not_read_through_links() {
    let changed = Changed::new();
    let beside = changed.origin.only_file().with_extension("files");
    let changes = beside.join("changes.jsonl");
    let secret = changed.origin.workdir.parent().join("secret");
    fs::write(&secret, "secret").unwrap();
    // The digest of a copy is part of a path; this one would lead elsewhere.
    let text = fs::read_to_string(&changes).unwrap();
    let digest = text.split("\"before\":\"").nth(1).unwrap();
    let digest = &digest[..64];
    fs::write(&changes, text.replace(digest, "../../../../../secret")).unwrap();
    let (outcome, detail) = Changed::outcome(&changed.undo(false), "d/old.txt");
    assert_eq!(
        (outcome.as_str(), detail.contains("damaged")),
        ("failed", true),
        "{detail}"
    );
    assert_eq!(read(&changed.project("d/old.txt")), "after");

    // A copy, the list of changes and the whole directory as links or pipes.
    fs::write(&changes, &text).unwrap();
    let copy = beside.join("objects").join(digest);
    fs::rename(&copy, &secret).unwrap();
    symlink(&secret, &copy).unwrap();
    let (outcome, _) = Changed::outcome(&changed.undo(false), "d/old.txt");
    assert_ne!(outcome, "restored");
    fs::remove_file(&changes).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&changes).status();
    assert!(made.unwrap().success());
    let refused = changed.origin.zot().arguments(["sessions", "undo"]).run("");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused.stderr.contains("a named pipe"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("changes.jsonl"),
        "{}",
        refused.stderr
    );
}
