//! Installing and removing extensions.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use testkit::poll_until;

use super::{Bench, GOOD, manifest, write_program};

#[test]
fn a_directory_is_copied_with_its_modes_and_links() {
    let bench = Bench::new();
    let source = bench.good();
    fs::create_dir_all(source.join(".git/objects")).unwrap();
    fs::create_dir(source.join("lib")).unwrap();
    fs::write(source.join("lib/data.txt"), "data").unwrap();
    fs::set_permissions(
        source.join("lib/data.txt"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    symlink("../run.sh", source.join("lib/again")).unwrap();
    let printed = bench.succeed(&["install", "good", "--yes"]);
    assert!(printed.contains("good 1.0.0 installed in"), "{printed}");
    let place = bench.installed().join("good");
    let mode = |path: &str| fs::metadata(place.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run.sh"), mode("lib/data.txt")), (0o755, 0o640));
    let link = fs::read_link(place.join("lib/again")).unwrap();
    assert_eq!(link, Path::new("../run.sh"));
    assert!(!place.join(".git").exists());
    assert_eq!(bench.store(), ["good"]);
}

#[test]
fn without_a_terminal_there_is_no_question() {
    let bench = Bench::new();
    bench.good();
    let ended = bench.run(&["install", "good"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // Its permissions are shown all the same.
    assert!(ended.stderr.contains("everything you may do"), "{ended:?}");
    assert_eq!(bench.store(), ["good"]);
    bench.succeed(&["rm", "good"]);
    assert!(bench.store().is_empty());
}

#[test]
fn in_a_terminal_the_user_is_asked() {
    for (command, answer, code, installed) in [
        (["install", "good", ""], "n\n", 1, 0),
        (["install", "good", ""], "\n", 1, 0),
        (["install", "good", ""], "y\n", 0, 1),
        (["install", "good", "-y"], "", 0, 1),
        (["remove", "good", ""], "n\n", 1, 1),
        (["remove", "good", ""], "\n", 1, 1),
        (["rm", "good", ""], "yes\n", 0, 0),
        (["remove", "good", "--yes"], "", 0, 0),
        (["rm", "good", "-y"], "", 0, 0),
    ] {
        let bench = Bench::new();
        bench.good();
        if command[0] != "install" {
            bench.succeed(&["install", "good", "--yes"]);
        }
        let command: Vec<&str> = command
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        let (mut keyboard, terminal) = terminal();
        let mut child = bench
            .command(&command)
            .into_command()
            .stdin(Stdio::from(terminal))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        keyboard.write_all(answer.as_bytes()).unwrap();
        let mut printed = String::new();
        let mut stderr = child.stderr.take().unwrap();
        stderr.read_to_string(&mut printed).unwrap();
        assert_eq!(
            child.wait().unwrap().code(),
            Some(code),
            "{command:?}: {printed}"
        );
        assert_eq!(
            printed.contains("[y/N]"),
            !answer.is_empty(),
            "{command:?}: {printed}"
        );
        assert_eq!(bench.store().len(), installed, "{command:?}");
    }
}

fn terminal() -> (fs::File, fs::File) {
    let keyboard: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&keyboard).unwrap();
    unlockpt(&keyboard).unwrap();
    let name = ptsname(&keyboard, Vec::new()).unwrap();
    let terminal = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    (keyboard.into(), terminal)
}

#[test]
fn permissions_are_shown() {
    let bench = Bench::new();
    let manifest = r#"{"name":"asks","exec":"./run.sh","permissions":
        {"fs_read":["$CWD"],"network":true,"exec":["git","jq"],"env":["TOKEN"]}}"#;
    bench.extension("asks", manifest, GOOD);
    let printed = bench.run(&["install", "asks"]).stderr;
    for part in ["$CWD", "network", "git, jq", "TOKEN", "enforced"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    assert!(!printed.contains("may do everything"), "{printed}");
}

#[test]
fn an_existing_name_needs_force() {
    let bench = Bench::new();
    let source = bench.good();
    bench.succeed(&["install", "good", "--yes"]);
    fs::write(source.join("new.txt"), "new").unwrap();
    let printed = bench.fail(1, &["install", "good", "--yes"]);
    assert!(printed.contains("--force"), "{printed}");
    let place = bench.installed().join("good");
    assert!(!place.join("new.txt").exists());
    fs::write(place.join("old.txt"), "old").unwrap();
    bench.succeed(&["install", "good", "--yes", "--force"]);
    assert!(place.join("new.txt").exists() && !place.join("old.txt").exists());
    // An extension in a directory of another name is replaced, too.
    fs::rename(&place, bench.installed().join("elsewhere")).unwrap();
    bench.fail(1, &["install", "good", "--yes"]);
    bench.succeed(&["install", "good", "--yes", "--force"]);
    assert_eq!(bench.store(), ["good"]);
}

#[test]
fn unusable_extensions_are_refused_and_leave_nothing() {
    let bench = Bench::new();
    let refused = |directory: &str, manifest: &str, expected: &str| {
        bench.extension(directory, manifest, GOOD);
        let printed = bench.fail(1, &["install", directory, "--yes"]);
        assert!(printed.contains(expected), "{directory}: {printed}");
        assert!(!printed.contains(".zot-tmp"), "{directory}: {printed}");
        assert_eq!(bench.store(), Vec::<String>::new(), "{directory}");
    };
    refused("up", &manifest("../x"), "not a valid extension name");
    refused("slash", &manifest("a/b"), "not a valid extension name");
    refused("hidden", &manifest(".a"), "not a valid extension name");
    refused("nameless", r#"{"exec":"./run.sh"}"#, "\"name\" is missing");
    refused("idle", r#"{"name":"idle"}"#, "\"exec\" is missing");
    refused("broken", "{", "parse manifest");
    refused(
        "gone",
        r#"{"name":"gone","exec":"./no"}"#,
        "./no does not exist",
    );
    refused(
        "path",
        r#"{"name":"path","exec":"zot-no-such-program"}"#,
        "PATH",
    );
    refused(
        "out",
        r#"{"name":"out","exec":"../out/run.sh"}"#,
        "leaves the extension's directory",
    );
    fs::write(bench.0.path().join("gone/no"), "").unwrap();
    refused("gone", r#"{"name":"gone","exec":"./no"}"#, "chmod +x ./no");
    fs::create_dir(bench.0.path().join("empty")).unwrap();
    let printed = bench.fail(1, &["install", "empty", "--yes"]);
    assert!(printed.contains("holds no extension.json"), "{printed}");
    let printed = bench.fail(1, &["install", "no/such/directory", "--yes"]);
    assert!(printed.contains("no such directory"), "{printed}");
    assert_eq!(bench.store(), Vec::<String>::new());
}

#[test]
fn links_that_lead_out_and_special_files_are_refused() {
    let cases: [(&str, &str, &str); 4] = [
        ("absolute", "/etc/passwd", "leads out"),
        ("up", "../../secret", "leads out"),
        ("nowhere", "missing", "leads nowhere"),
        ("hop", "inner/loop/..", "leads out"),
    ];
    for (name, target, expected) in cases {
        let bench = Bench::new();
        let source = bench.good();
        fs::create_dir(source.join("inner")).unwrap();
        // `inner/loop/..` looks like `inner` but is its parent.
        symlink("..", source.join("inner/loop")).unwrap();
        symlink(target, source.join(name)).unwrap();
        let printed = bench.fail(1, &["install", "good", "--yes"]);
        assert!(printed.contains(expected), "{name}: {printed}");
        assert!(bench.store().is_empty());
    }
    let bench = Bench::new();
    let socket = bench.good().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
    let printed = bench.fail(1, &["install", "good", "--yes"]);
    assert!(
        printed.contains("not a file, directory or link"),
        "{printed}"
    );
    assert!(bench.store().is_empty());
}

#[test]
fn the_directory_that_holds_the_store_is_refused() {
    let bench = Bench::new();
    let home = bench.0.home();
    super::write_extension(&home, &manifest("home"), GOOD);
    let printed = bench.fail(1, &["install", home.to_str().unwrap(), "--yes"]);
    assert!(printed.contains("contains the directory"), "{printed}");
    assert!(bench.store().is_empty());
}

/// A bare repository with two commits; the first one is tagged.
fn remote(bench: &Bench) -> (String, String) {
    let work = bench.good();
    let bare = bench.0.path().join("remote.git");
    let git = |directory: &Path, arguments: &[&str]| {
        let output = Command::new("git")
            .args(["-c", "user.name=t", "-c", "user.email=t@example.com"])
            .args(["-c", "init.defaultBranch=main", "-C"])
            .arg(directory)
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {printed}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&work, &["init", "--quiet"]);
    git(&work, &["add", "."]);
    git(&work, &["commit", "--quiet", "-m", "one"]);
    git(&work, &["tag", "v1"]);
    let first = git(&work, &["rev-parse", "HEAD"]);
    fs::write(work.join("second.txt"), "2").unwrap();
    git(&work, &["add", "."]);
    git(&work, &["commit", "--quiet", "-m", "two"]);
    let path = bare.to_str().unwrap();
    git(&work, &["clone", "--quiet", "--bare", ".", path]);
    (format!("file://{path}"), first)
}

#[test]
fn a_remote_is_cloned_at_the_given_ref() {
    let bench = Bench::new();
    let (url, first) = remote(&bench);
    let place = bench.installed().join("good");
    for (reference, has_second) in [("", true), ("@v1", false), ("@main", true)] {
        let origin = format!("{url}{reference}");
        let ended = bench.run(&["install", &origin, "--yes", "--force"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stderr.contains("cloning"), "{}", ended.stderr);
        assert_eq!(place.join("second.txt").exists(), has_second, "{reference}");
        assert!(!place.join(".git").exists());
    }
    bench.succeed(&["install", &format!("{url}@{first}"), "--yes", "--force"]);
    assert!(!place.join("second.txt").exists());
    assert_eq!(bench.store(), ["good"]);
    bench.succeed(&["list"]);
}

#[test]
fn an_unreachable_remote_leaves_nothing() {
    let bench = Bench::new();
    let (url, _) = remote(&bench);
    let missing = format!("file://{}/no.git", bench.0.path().display());
    let printed = bench.fail(1, &["install", &missing, "--yes"]);
    assert!(printed.contains("git could not fetch"), "{printed}");
    let printed = bench.fail(1, &["install", &format!("{url}@no-such-ref"), "--yes"]);
    assert!(printed.contains("no branch or tag"), "{printed}");
    let nobody = "0".repeat(40);
    let printed = bench.fail(1, &["install", &format!("{url}@{nobody}"), "--yes"]);
    assert!(printed.contains("git could not fetch"), "{printed}");
    let printed = bench.fail(1, &["install", &format!("{url}@--upload-pack=x"), "--yes"]);
    assert!(
        printed.contains("not a valid branch, tag or commit"),
        "{printed}"
    );
    let empty = bench.0.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert_eq!(bench.store(), Vec::<String>::new());
}

#[test]
fn an_interrupted_clone_leaves_nothing() {
    let bench = Bench::new();
    // A git that never ends, and starts a process that never ends.
    let tools = bench.0.home().join("tools");
    fs::create_dir_all(&tools).unwrap();
    let marker = format!("86{:04}", std::process::id() % 10000);
    write_program(
        &tools.join("git"),
        &format!("#!/bin/sh\nsleep {marker} &\nwait\n"),
    );
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let zot = bench
        .command(&["install", "file:///anywhere.git", "--yes"])
        .env("PATH", path)
        .spawn();
    let sleeper = format!("sleep {marker}");
    poll_until("git runs", || {
        !testkit::process::with_command_line(&sleeper).is_empty()
    });
    assert_eq!(bench.store().len(), 1);
    zot.signal(testkit::Signal::INT);
    let ended = zot.wait(testkit::PATIENCE);
    assert_eq!(ended.code, Some(130));
    assert_eq!(bench.store(), Vec::<String>::new());
    poll_until("nothing is left running", || {
        testkit::process::with_command_line(&sleeper).is_empty()
    });
}

/// As a confined command could put one into the virtual environment of a project.
#[test]
fn a_git_in_the_working_directory_is_not_used() {
    let bench = Bench::new();
    let tools = bench.0.path().join(".venv/bin");
    fs::create_dir_all(&tools).unwrap();
    let seen = bench.0.home().join("seen");
    let script = format!("#!/bin/sh\necho \"$0\" >> {}\nexit 1\n", seen.display());
    for name in ["git", "ssh"] {
        write_program(&tools.join(name), &script);
    }
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    for url in ["file:///anywhere.git", "ssh://127.0.0.1:1/anywhere.git"] {
        let ended = bench
            .command(&["install", url, "--yes"])
            .env("PATH", &path)
            .run("");
        assert_ne!(ended.code, Some(0));
        assert!(!seen.exists(), "{url}");
    }
}

#[test]
fn git_gets_no_keys() {
    let bench = Bench::new();
    let tools = bench.0.home().join("tools");
    fs::create_dir_all(&tools).unwrap();
    let seen = bench.0.path().join("seen");
    let script = format!("#!/bin/sh\nenv > {}\nexit 1\n", seen.display());
    write_program(&tools.join("git"), &script);
    let path = format!("{}:{}", tools.display(), std::env::var("PATH").unwrap());
    let ended = bench
        .command(&["install", "file:///anywhere.git", "--yes"])
        .env("PATH", path)
        .env("OPENAI_API_KEY", "canary-key")
        .env("MINE", "passed")
        .run("");
    assert_ne!(ended.code, Some(0));
    let seen = fs::read_to_string(seen).unwrap();
    assert!(seen.contains("MINE=passed\n"), "{seen}");
    assert!(!seen.contains("canary-key"), "{seen}");
}

#[test]
fn leftovers_of_a_killed_installation_are_removed() {
    let bench = Bench::new();
    bench.good();
    let abandoned = bench.installed().join(".zot-tmp-999999999-0");
    fs::create_dir_all(abandoned.join("extension")).unwrap();
    let ours = format!(".zot-tmp-{}-0", std::process::id());
    fs::create_dir(bench.installed().join(&ours)).unwrap();
    bench.succeed(&["install", "good", "--yes"]);
    assert_eq!(bench.store(), [ours.as_str(), "good"]);
}

#[test]
fn remove_deletes_an_extension() {
    let bench = Bench::new();
    let source = bench.good();
    bench.succeed(&["install", "good", "--yes"]);
    bench.succeed(&["remove", "good"]);
    assert!(bench.store().is_empty());
    let printed = bench.fail(1, &["remove", "good"]);
    assert!(
        printed.contains("no extension called \"good\""),
        "{printed}"
    );
    for name in ["../good", "..", ".", "a/b", ""] {
        let printed = bench.fail(1, &["remove", name]);
        assert!(printed.contains("name"), "{name:?}: {printed}");
    }
    // Only the link itself is removed.
    symlink(&source, bench.installed().join("good")).unwrap();
    bench.succeed(&["remove", "good"]);
    assert!(bench.store().is_empty() && source.join("run.sh").exists());
    // A broken manifest does not prevent the removal.
    let broken = bench.installed().join("broken");
    super::write_extension(&broken, "{", GOOD);
    bench.succeed(&["remove", "broken"]);
    assert!(bench.store().is_empty());
}

#[test]
fn enable_and_disable_change_only_one_field() {
    let bench = Bench::new();
    let manifest = "{\n\t\"zeta\": [1,  2],\n\t\"name\": \"good\",\n\t\"enabled\":true , \"exec\": \"./run.sh\",\n\t\"a\": 1.50\n}\n";
    bench.extension("good", manifest, GOOD);
    bench.succeed(&["install", "good", "--yes"]);
    let file = bench.installed().join("good/extension.json");
    bench.succeed(&["disable", "good"]);
    let disabled = fs::read_to_string(&file).unwrap();
    assert_eq!(disabled, manifest.replace("true", "false"));
    assert!(bench.succeed(&["disable", "good"]).contains("already"));
    bench.succeed(&["enable", "good"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), manifest);
    assert_eq!(
        fs::read_dir(bench.installed().join("good"))
            .unwrap()
            .count(),
        2
    );
    assert!(
        bench
            .fail(1, &["enable", "../good"])
            .contains("not a valid extension name")
    );
    assert!(bench.fail(1, &["enable", "nobody"]).contains("nobody"));
}
