use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use super::Secrets;
use crate::sandbox::tests::{run, with_kept_view, with_namespaces};
use crate::sandbox::{Access, Sandbox};

fn write(path: &Path, mode: u32) {
    fs::write(path, "x").unwrap();
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn found(secrets: &Secrets) -> Vec<PathBuf> {
    secrets.paths().cloned().collect()
}

#[test]
fn what_not_everybody_may_read_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    for (name, mode) in [("open", 0o755), ("closed", 0o750)] {
        fs::create_dir(root.join(name)).unwrap();
        for (inner, mode) in [("secret", 0o640), ("known", 0o644), ("named", 0o644)] {
            write(&root.join(name).join(inner), mode);
        }
        fs::set_permissions(root.join(name), Permissions::from_mode(mode)).unwrap();
    }
    symlink("open/secret", root.join("link")).unwrap();
    let named = [
        root.join("open/named"),
        root.join("none"),
        root.join("link"),
    ];
    let named: Vec<&Path> = named.iter().map(PathBuf::as_path).collect();
    let expected = ["closed", "open/named", "open/secret"].map(|name| root.join(name));
    assert_eq!(found(&Secrets::below(root, &named)), expected);
}

#[test]
fn a_change_of_a_directory_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("inner")).unwrap();
    write(&root.join("inner/plain"), 0o644);
    let before = Secrets::below(root, &[]);
    assert!(found(&before).is_empty());
    fs::write(root.join("inner/plain"), "changed").unwrap();
    assert!(before.is_current());
    write(&root.join("inner/secret"), 0o600);
    assert!(!before.is_current());
    let after = Secrets::below(root, &[]);
    assert_eq!(found(&after), [root.join("inner/secret")]);
    write(&root.join("plain"), 0o600);
    fs::rename(root.join("plain"), root.join("inner/secret")).unwrap();
    let replaced = Secrets::below(root, &[]);
    assert_eq!(found(&replaced), found(&after));
    assert_ne!(replaced.found, after.found);
    fs::set_permissions(root.join("inner"), Permissions::from_mode(0o700)).unwrap();
    assert!(!replaced.is_current());
}

/// Set for a run of these tests with a copy of `/etc` in its place.
const OWN_ETC: &str = "ZOT_PROCESS_TEST_OWN_ETC";

/// Not a test by itself: `secrets_that_appear_or_are_replaced_stay_hidden` runs it.
#[test]
fn hidden_in_a_copy() {
    if std::env::var_os(OWN_ETC).is_none() {
        return;
    }
    let (secret, later) = (Path::new("/etc/zot-secret"), Path::new("/etc/zot-later"));
    fs::create_dir("/etc/zot-open").unwrap();
    write(secret, 0o600);
    let fixture = with_namespaces().unwrap();
    let sandbox = fixture.sandbox(with_kept_view());
    let reads = |sandbox: &Sandbox, path: &Path| {
        let script = format!("cat {}", path.display());
        let (_, text, _) = run(sandbox, &fixture.workspace(), &script);
        text == "x"
    };
    assert!(!reads(&sandbox, secret));
    // As `passwd` does it.
    write(Path::new("/etc/zot-new"), 0o600);
    fs::rename("/etc/zot-new", secret).unwrap();
    assert!(!reads(&sandbox, secret));
    write(later, 0o600);
    let layout = sandbox.layout().unwrap();
    let admitted = layout.admit(later, Access::Read, true).unwrap();
    assert_eq!(admitted.root, Path::new("/dev/null"));
    assert!(!reads(&sandbox, later));
    // What everybody may read changes nothing.
    let before = sandbox.layout().unwrap();
    let plain = Path::new("/etc/zot-open/plain");
    write(plain, 0o644);
    assert!(Arc::ptr_eq(&sandbox.layout().unwrap(), &before));
    assert!(reads(&sandbox, plain));
}

#[test]
fn secrets_that_appear_or_are_replaced_stay_hidden() {
    if with_namespaces().is_none() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        testkit::skip("only root can put a copy in the place of /etc");
        return;
    }
    let copy = tempfile::tempdir().unwrap();
    let script = "cp -a /etc \"$1\" && mount --bind \"$1/etc\" /etc && exec \"$0\" --exact \
                  sandbox::secrets::tests::hidden_in_a_copy --nocapture";
    let mut command = Command::new("unshare");
    command
        .args(["-m", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .arg(copy.path())
        .env(OWN_ETC, "1");
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("running 1 test"), "{text}");
    assert!(output.status.success(), "{text}");
}
