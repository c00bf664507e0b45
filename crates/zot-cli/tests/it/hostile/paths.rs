//! Unusable homes, working directories and arguments.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use serde_json::Value;
use testkit::{Finished, ModelServer, Wire, Workdir, ZotCommand};

use crate::support::binary;

struct Project {
    server: ModelServer,
    workdir: Workdir,
}

impl Project {
    fn new() -> Self {
        let (server, workdir) = (ModelServer::start(), Workdir::with_files("work"));
        Self { server, workdir }
    }

    fn zot(&self) -> ZotCommand {
        ZotCommand::new(binary(), &self.workdir).model(&self.server, Wire::OpenAi)
    }
}

fn run(command: ZotCommand) -> Finished {
    command.run("")
}

#[test]
fn a_home_that_is_a_file_is_explained() {
    let project = Project::new();
    let file = project.workdir.path().join("a.txt");
    let ended = run(project
        .zot()
        .arguments(["-p", "say:1"])
        .env("ZOT_HOME", &file));
    assert_eq!(ended.code, Some(2));
    let expected = format!(
        "zot: cannot read {}/models.json: Not a directory",
        file.display()
    );
    assert!(ended.stderr.starts_with(&expected), "{}", ended.stderr);
}

#[test]
fn a_sessions_directory_that_cannot_be_created_is_explained() {
    let project = Project::new();
    let home = project.workdir.zot_home();
    fs::create_dir_all(&home).unwrap();
    fs::write(home.join("sessions"), "in the way").unwrap();
    let ended = run(project.zot().arguments(["-p", "say:1"]));
    assert_eq!(ended.code, Some(2));
    let text = ended.stderr;
    assert!(
        text.contains("zot: cannot create ") && text.contains("--no-session"),
        "{text}"
    );
    let ended = run(project.zot().arguments(["-p", "--no-session", "say:1"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "alpha \n"));
}

#[test]
fn a_relative_home_is_below_the_starting_directory() {
    let project = Project::new();
    let sub = project.workdir.path().join("sub");
    let ended = run(project
        .zot()
        .arguments(["-p", "say:1", "--cwd"])
        .argument(&sub)
        .env("ZOT_HOME", "own"));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(project.workdir.path().join("own/sessions").is_dir());
}

/// Returns the output of `pwd` in a run with this `--cwd`.
fn working_directory(project: &Project, cwd: &str) -> String {
    let prompt = r#"tool:bash:{"command":"pwd"}"#;
    let command = project.zot().arguments(["--json", prompt, "--cwd", cwd]);
    let ended = run(command);
    assert_eq!(ended.code, Some(0), "{cwd}: {}", ended.stderr);
    let frames = ended.stdout.lines().map(serde_json::from_str::<Value>);
    let result = frames
        .filter_map(Result::ok)
        .find(|frame| frame["type"] == "tool_result")
        .expect("a result");
    let text = result["content"][0]["text"].as_str().unwrap();
    text.lines().nth(2).unwrap_or_default().to_owned()
}

#[test]
fn unusual_working_directories_work() {
    let project = Project::new();
    let path = project.workdir.path();
    std::os::unix::fs::symlink("sub", path.join("link")).unwrap();
    let path = path.display();
    for (given, shown) in [
        ("sub".to_owned(), format!("{path}/sub")),
        (format!("{path}/sub/"), format!("{path}/sub")),
        (format!("{path}/link"), format!("{path}/link")),
        (format!("{path}/link/"), format!("{path}/link")),
        (".".to_owned(), format!("{path}")),
    ] {
        assert_eq!(working_directory(&project, &given), shown, "{given}");
    }
}

#[test]
fn invalid_working_directories_are_refused() {
    let project = Project::new();
    for cwd in ["gone", "a.txt", "a.txt/below"] {
        let ended = run(project.zot().arguments(["-p", "say:1", "--cwd", cwd]));
        assert_eq!(ended.code, Some(2), "{cwd}: {}", ended.stderr);
        assert!(ended.stderr.contains(cwd), "{}", ended.stderr);
    }
    assert!(project.server.requests().is_empty());
}

#[test]
fn prompts_may_look_like_flags_and_be_long() {
    let project = Project::new();
    let long = format!("say:2 {}", "x".repeat(120_000));
    for (arguments, answer) in [
        (vec!["-p", "--", "--help"], "ok\n"),
        (vec!["-p", "--", "-v", "-p"], "ok\n"),
        (vec!["-p", &long], "alpha beta \n"),
    ] {
        let ended = run(project.zot().arguments(arguments));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), answer));
    }
}

#[test]
fn arguments_that_are_not_utf8_are_refused() {
    let project = Project::new();
    let argument = OsStr::from_bytes(b"say:1 \xff");
    let ended = run(project.zot().argument("-p").argument(argument));
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("UTF-8"), "{}", ended.stderr);
}

/// Runs a script with its own file system; `None` where the system does not allow
/// that.
#[cfg(target_os = "linux")]
fn in_own_mounts(script: &str) -> Option<std::process::Command> {
    let unshare = |script: &str| {
        let mut command = std::process::Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command
    };
    let probe = unshare("mount -t tmpfs tmpfs /mnt").output();
    probe
        .is_ok_and(|probe| probe.status.success())
        .then(|| unshare(script))
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_leaves_files_as_they_were() {
    let project = Project::new();
    let content = "y".repeat(40_000);
    // A file with two names is overwritten in place, any other is replaced.
    let prompt = format!(
        "multi:[{{\"name\":\"write\",\"args\":{{\"path\":\"full/linked\",\"content\":\"{content}\"}}}},\
         {{\"name\":\"write\",\"args\":{{\"path\":\"full/single\",\"content\":\"{content}\"}}}}]"
    );
    let zot = project.zot().arguments(["--json", &prompt]).into_command();
    let script = "mkdir full && mount -t tmpfs -o size=32k tmpfs full && cd full && \
         echo old > linked && ln linked other && echo old > single && cd .. && \
         \"$0\" \"$@\" && cat full/linked full/single && ls -A full";
    let Some(mut command) = in_own_mounts(script) else {
        eprintln!("not tried: no file systems of our own here");
        return;
    };
    command
        .arg(zot.get_program())
        .args(zot.get_args())
        .envs(
            zot.get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(project.workdir.path())
        .stdin(std::process::Stdio::null());
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert_eq!(
        stdout.matches("no space left on device").count(),
        2,
        "{stdout}"
    );
    assert!(
        stdout.ends_with("\nold\nold\nlinked\nother\nsingle\n"),
        "{stdout}"
    );
}
