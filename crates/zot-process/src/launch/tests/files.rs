use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{
    Confinement, FileAccess, confine, fails, has_landlock, installed, output, reading, shell,
    succeeds, with_path, writing,
};
use crate::launch::{ConfineError, Status};

/// Runs `script` with `{}` replaced by `path`.
fn script(script: &str, path: &Path) -> Command {
    shell(with_path(script, path).to_str().unwrap())
}

fn confined(access: FileAccess) -> Confinement {
    Confinement::default().filesystem(access)
}

#[test]
fn writing_works_inside_and_fails_outside() {
    if !has_landlock() {
        return;
    }
    let inside = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let confinement = confined(writing(&[inside.path()]));
    let everything = "cd {} && mkdir a && echo x > a/b && mv a/b c && cat c && ln -s c d && \
                      echo y >> c && rm -r a d && : > c && ls";
    let listed = succeeds(script(everything, inside.path()), &confinement);
    assert_eq!(listed, "x\nc\n");

    let kept = outside.path().join("kept");
    fs::write(&kept, "kept").unwrap();
    let attempts = [
        "echo x > {}/new",
        "echo x >> {}/kept",
        ": > {}/kept",
        "rm {}/kept",
        "mkdir {}/new",
        "mv {}/kept {}/moved",
        "ln -s x {}/new",
        "ln {}/kept {}/new",
        "mkfifo {}/new",
    ];
    for attempt in attempts {
        fails(script(attempt, outside.path()), &confinement);
    }
    assert_eq!(fs::read(&kept).unwrap(), b"kept");
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn truncating_by_name_fails_outside() {
    let Some(python) = installed("python3") else {
        return;
    };
    if !has_landlock() {
        return;
    }
    let inside = tempfile::tempdir().unwrap();
    let kept = tempfile::NamedTempFile::new().unwrap();
    fs::write(kept.path(), "kept").unwrap();
    let mut command = Command::new(python);
    command
        .arg("-c")
        .arg(with_path("import os; os.truncate('{}', 0)", kept.path()));
    let error = fails(command, &confined(writing(&[inside.path()])));
    let words = [
        "PermissionError",
        "Read-only file system",
        "FileNotFoundError",
    ];
    let is_refused = words.iter().any(|word| error.contains(word));
    assert!(is_refused, "{error}");
    assert_eq!(fs::read(kept.path()).unwrap(), b"kept");
}

#[test]
fn links_do_not_lead_outside() {
    if !has_landlock() {
        return;
    }
    let inside = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    symlink(outside.path(), inside.path().join("out")).unwrap();
    let confinement = confined(writing(&[inside.path()]));
    fails(script("cat {}/out/secret", inside.path()), &confinement);
    fails(
        script("echo x > {}/out/secret", inside.path()),
        &confinement,
    );
    fails(script("ls {}/out/", inside.path()), &confinement);
    let own_link = format!(
        "ln -s {} {{}}/more && cat {{}}/more/secret",
        outside.path().display()
    );
    fails(script(&own_link, inside.path()), &confinement);
    let hard_link = format!(
        "ln {}/secret {{}}/hard && cat {{}}/hard",
        outside.path().display()
    );
    fails(script(&hard_link, inside.path()), &confinement);
    // Through the process's own root.
    let root = format!("cat /proc/self/root{}/secret", outside.path().display());
    fails(shell(&root), &confinement);
    assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
}

#[test]
fn only_what_is_allowed_can_be_read() {
    if !has_landlock() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("secret"), "secret").unwrap();
    fs::create_dir(home.path().join("notes")).unwrap();
    fs::write(home.path().join("notes/one"), "one").unwrap();
    let read = |what: &str| {
        let mut command = shell(what);
        command.current_dir(home.path()).env("HOME", home.path());
        command
    };
    let notes = home.path().join("notes");
    let missing = home.path().join("missing");
    let confinement = confined(reading(&[&notes, &missing]));
    assert_eq!(succeeds(read("cat $HOME/notes/one"), &confinement), "one");
    fails(read("cat $HOME/secret"), &confinement);
    // A view shows nothing else.
    let (listed, _) = output(read("ls $HOME"), &confinement);
    assert!(!listed.status.success() || listed.stdout == b"notes\n");
    fails(read("echo x > $HOME/notes/one"), &confinement);
    // One file, without its neighbours.
    let confinement = confined(reading(&[&notes.join("one")]));
    assert_eq!(succeeds(read("cat notes/one"), &confinement), "one");
    let (listed, _) = output(read("ls notes"), &confinement);
    assert!(!listed.status.success() || listed.stdout == b"one\n");
}

#[test]
fn a_program_in_a_home_does_not_make_it_readable() {
    if !has_landlock() {
        return;
    }
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("secret"), "secret").unwrap();
    for directory in ["bin", ".local/bin", ".local/lib", ".local/share"] {
        fs::create_dir_all(home.path().join(directory)).unwrap();
        fs::write(home.path().join(directory).join("file"), directory).unwrap();
    }
    for directory in ["bin", ".local/bin"] {
        let program = home.path().join(directory).join("program");
        // In another process: a file that a fork of ours holds open for writing cannot be executed.
        let copied = Command::new("cp").arg("/bin/sh").arg(&program).status();
        assert!(copied.unwrap().success());
        let read = |path: &str| {
            let mut command = Command::new(&program);
            command
                .args(["-c", "read line < $HOME/$0; test -n \"$line\"", path])
                .env("HOME", home.path());
            command
        };
        let confinement = confined(FileAccess::default());
        fails(read("secret"), &confinement);
        fails(read(".local/share/file"), &confinement);
        fails(read("bin/file"), &confinement);
    }
}

#[test]
fn the_parent_can_be_neither_read_nor_signalled() {
    if !has_landlock() {
        return;
    }
    let gaps = crate::launch::enforceable().files.to_string();
    if gaps.contains("privileges of root") {
        testkit::skip(&gaps);
        return;
    }
    let confinement = confined(FileAccess::default());
    let parent = std::process::id();
    succeeds(shell("cat /proc/self/environ"), &confinement);
    fails(shell(&format!("cat /proc/{parent}/environ")), &confinement);
    fails(shell(&format!("cat /proc/{parent}/maps")), &confinement);
    fails(shell(&format!("ls /proc/{parent}/cwd/")), &confinement);
    let gaps = crate::launch::enforceable().processes.to_string();
    if gaps.contains("can be signalled") {
        testkit::skip(&gaps);
    } else {
        fails(shell(&format!("kill -0 {parent}")), &confinement);
    }
    succeeds(shell("sleep 300 & kill $!"), &confinement);
}

#[test]
fn programs_find_what_they_expect() {
    if !has_landlock() {
        return;
    }
    let confinement = confined(FileAccess::default()).network(false);
    let script = "set -e; cat /etc/passwd > /dev/null; head -c 8 /dev/urandom > /dev/null; \
                  head -c 8 /dev/zero > /dev/null; ls /usr/bin > /dev/null; \
                  cat /proc/self/status | grep -q NoNewPrivs; echo done > /dev/stdout";
    assert_eq!(succeeds(shell(script), &confinement), "done\n");
}

#[test]
fn a_writable_path_must_exist() {
    if !has_landlock() {
        return;
    }
    let missing = Path::new("/nonexistent/directory");
    let command = shell("true");
    let error = confine(command, &confined(writing(&[missing])))
        .err()
        .unwrap();
    assert!(matches!(&error, ConfineError::Writable { path, .. } if path == missing));
    assert_eq!(
        error.to_string(),
        "cannot allow writing to /nonexistent/directory: create it first, or take it off the list"
    );
}

#[test]
fn open_sockets_are_reported_as_a_gap() {
    if !has_landlock() {
        return;
    }
    let with_network = confined(FileAccess::default());
    let files = confine(Command::new("true"), &with_network)
        .unwrap()
        .1
        .files;
    assert!(matches!(&files, Status::Partly(gap) if gap.contains("Unix sockets")));
    let without = with_network.network(false);
    let (_, enforcement) = confine(Command::new("true"), &without).unwrap();
    assert_eq!(enforcement.files, crate::launch::enforceable().files);
}

#[test]
fn a_link_in_a_path_allows_nothing() {
    if !has_landlock() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let link = root.join("link");
    symlink(outside.path(), &link).unwrap();
    for path in [link.clone(), link.join("secret")] {
        let error = confine(shell("true"), &confined(writing(&[&path])))
            .err()
            .unwrap();
        assert!(matches!(error, ConfineError::Writable { .. }), "{error}");
        let read = script("cat {}/secret", outside.path());
        fails(read, &confined(reading(&[&path])));
    }
}

#[test]
fn a_confined_child_has_a_new_session_and_no_terminal() {
    if !has_landlock() {
        return;
    }
    let confinement = confined(FileAccess::default());
    // The fields after the name: state, parent, group, session, terminal.
    let command = shell("read stat < /proc/self/stat; set -- ${stat##*)}; echo $$ $3 $4 $5");
    let output = succeeds(command, &confinement);
    let fields: Vec<&str> = output.split_whitespace().collect();
    let [own, group, session, terminal] = fields[..] else {
        panic!("{output}");
    };
    assert_eq!((group, session, terminal), (own, own, "0"));
    fails(shell(": < /dev/tty"), &confinement);
}
