use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{Scratch, ScratchDirectory, sweep};

#[test]
fn a_sweep_removes_abandoned_directories_only() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let used = ScratchDirectory::new_in(parent.path(), Scratch::Jail).unwrap();
    fs::write(used.path().join("file"), "x").unwrap();
    let mode = fs::metadata(used.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    let abandoned = at("zot-jail-0123");
    fs::create_dir_all(abandoned.join("deep")).unwrap();
    let outside = at("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("precious"), "x").unwrap();
    // Links are not followed, neither beside the directory nor inside it.
    symlink(&outside, at("zot-jail-link")).unwrap();
    symlink(&outside, abandoned.join("link")).unwrap();
    fs::write(at("zot-jail-file"), "x").unwrap();
    sweep(parent.path());
    assert!(used.path().join("file").exists());
    assert!(!abandoned.exists());
    assert!(outside.join("precious").exists());
    let path = used.path().to_owned();
    drop(used);
    assert!(!path.exists());
}

#[test]
fn the_lock_of_a_running_process_prevents_a_sweep() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("zino-exc-other");
    fs::create_dir(&path).unwrap();
    let mut holder = std::process::Command::new("flock")
        .arg(&path)
        .args(["-c", "echo held; read _"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .expect("flock of util-linux");
    let mut output = [0; 5];
    std::io::Read::read_exact(holder.stdout.as_mut().unwrap(), &mut output).unwrap();
    sweep(parent.path());
    assert!(path.exists());
    // The shell that flock started holds the lock as well, and ends with its input.
    drop(holder.stdin.take());
    holder.wait().unwrap();
    sweep(parent.path());
    assert!(!path.exists());
}

#[test]
fn directories_without_permissions_are_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    let scratch = ScratchDirectory::new(Scratch::Trial).unwrap();
    let path = scratch.path().to_owned();
    std::fs::create_dir_all(path.join("a/b/c")).unwrap();
    std::fs::write(path.join("a/b/c/file"), "").unwrap();
    for closed in ["a/b/c", "a/b", "a", "."] {
        let mode = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(path.join(closed), mode).unwrap();
    }
    drop(scratch);
    assert!(!path.exists());
}
