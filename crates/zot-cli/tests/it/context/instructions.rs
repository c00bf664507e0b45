//! `AGENTS.md` and similar files.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::{Wire, ZotCommand};

use super::{Project, system_of};
use crate::support::{Session, binary};

#[test]
fn instructions_are_part_of_the_system_prompt() {
    let project = Project::new();
    project.write(".git/HEAD", "");
    project.write("AGENTS.md", "Use tabs.\n");
    project.write("CLAUDE.md", "Be kind.\n");
    project.write("deep/er/.zot/instructions.md", "Use blanks.\n");
    let deep = project.workdir.path().join("deep/er");
    let run = project.print(&["--cwd", deep.to_str().unwrap(), "say:1"]);
    assert_eq!((run.code, run.stderr.as_str()), (Some(0), ""));
    let system = project.system();
    let positions = [
        "<instructions from=\".zot/instructions.md\">\nUse blanks.\n</instructions>",
        "<instructions from=\"../../AGENTS.md\">\nUse tabs.\n</instructions>",
        "<instructions from=\"../../CLAUDE.md\">\nBe kind.\n</instructions>",
        "Current date: ",
        "Current working directory: ",
    ]
    .map(|part| system.find(part));
    assert!(positions.iter().all(Option::is_some), "{system}");
    assert!(positions.is_sorted(), "{system}");
}

#[test]
fn instructions_are_read_in_every_mode_and_can_be_left_out() {
    let project = Project::new();
    project.write("AGENTS.md", "Use tabs.");
    for (flags, expected) in [(&[][..], true), (&["--no-context-files"][..], false)] {
        project.print(&[flags, &["say:1"]].concat());
        assert_eq!(project.system().contains("Use tabs."), expected);

        let mut zot = ZotCommand::rpc(binary(), &project.workdir, &project.server, Wire::OpenAi)
            .arguments(flags)
            .spawn();
        zot.turn("1", "say:1");
        assert_eq!(project.system().contains("Use tabs."), expected);
    }
}

/// Providers cache only an unchanged prefix.
#[test]
fn the_system_prompt_does_not_change_during_a_conversation() {
    let mut session = Session::start_with(Wire::OpenAi, |zot| zot.argument("--with-skills"));
    session.workdir.write("AGENTS.md", "Too late.");
    session.zot.turn("1", "tool:bash:{\"command\":\"echo hi\"}");
    session.zot.turn("2", "say:1");
    let systems: Vec<String> = session.server.requests().iter().map(system_of).collect();
    assert_eq!(systems.len(), 3);
    assert!(systems.iter().all(|system| *system == systems[0]));
}

#[test]
fn a_custom_system_prompt_keeps_the_instructions() {
    let project = Project::new();
    project.write("AGENTS.md", "Use tabs.");
    project.write_home("SYSTEM.md", "From home.");
    project.print(&["--append-system-prompt", "APP", "say:1"]);
    let system = project.system();
    assert!(system.starts_with("From home."), "{system}");
    assert!(system.contains("Use tabs."), "{system}");
    let (_, end) = system.split_once("APP\n\nCurrent date: 20").unwrap();
    let here = format!(
        "Current working directory: {}",
        project.workdir.path().display()
    );
    assert!(end.ends_with(&here), "{system}");

    project.print(&[
        "--system-prompt",
        "SYS",
        "--no-skill",
        "--no-context-files",
        "say:1",
    ]);
    let system = project.system();
    assert!(system.starts_with("SYS\n\nCurrent date: 20"), "{system}");
    assert!(system.ends_with(&here), "{system}");
}

#[test]
fn unreadable_instructions_cause_a_warning() {
    let project = Project::new();
    let outside = project.workdir.home().join("secret");
    fs::write(&outside, "the secret").unwrap();
    symlink(&outside, project.workdir.path().join("AGENTS.md")).unwrap();
    project.write("CLAUDE.md", "Be kind.");
    let run = project.print(&["say:1"]);
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.starts_with("zot: warning: "), "{}", run.stderr);
    assert!(run.stderr.contains("AGENTS.md: is a link that leads out"));
    let system = project.system();
    assert!(system.contains("Be kind.") && !system.contains("the secret"));
}
