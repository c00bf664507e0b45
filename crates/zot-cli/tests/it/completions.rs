//! `zot completions` and `zot man`: they know every command and every flag.

use std::process::{Command, Stdio};

use testkit::{Finished, Workdir, ZotCommand};

use crate::support::binary;

fn run(arguments: &[&str]) -> Finished {
    let workdir = Workdir::new("work");
    ZotCommand::new(binary(), &workdir)
        .arguments(arguments)
        .run("")
}

/// The words of the error about a command that there is not.
fn commands() -> Vec<String> {
    let stderr = run(&["nonsense"]).stderr;
    let list = stderr
        .split('(')
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    list.unwrap().split(", ").map(str::to_owned).collect()
}

/// The long flags that `--help` shows.
fn flags() -> Vec<String> {
    let help = run(&["--help"]).stdout;
    let words = help
        .lines()
        .filter(|line| line.starts_with("  "))
        .flat_map(str::split_whitespace);
    let mut flags: Vec<String> = words
        .filter(|word| word.starts_with("--") && word.len() > 2)
        .map(|word| {
            word.trim_matches(|c: char| c != '-' && !c.is_ascii_alphanumeric())
                .to_owned()
        })
        .map(|word| word.split(['=', '[']).next().unwrap_or_default().to_owned())
        .collect();
    flags.sort();
    flags.dedup();
    flags
}

#[test]
fn every_command_and_flag_is_completed() {
    assert!(commands().len() >= 10, "{:?}", commands());
    for shell in ["bash", "zsh", "fish"] {
        let script = run(&["completions", shell]);
        assert_eq!(script.code, Some(0), "{}", script.stderr);
        for command in commands() {
            assert!(script.stdout.contains(&command), "{shell}: {command}");
        }
        for flag in flags() {
            let name = flag.trim_start_matches('-');
            assert!(script.stdout.contains(name), "{shell}: {flag}");
        }
        assert!(script.stdout.contains("no-probe"), "flags of commands, too");
    }
    assert_eq!(run(&["completions", "tcsh"]).code, Some(2));
}

#[test]
fn bash_takes_the_script() {
    let script = run(&["completions", "bash"]).stdout;
    let check = format!(
        "{script}\nCOMP_WORDS=(zot logi); COMP_CWORD=1; _zot zot logi zot; echo \"${{COMPREPLY[*]}}\""
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &check])
        .stdin(Stdio::null())
        .output()
        .expect("run bash");
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "login");
}

#[test]
fn there_is_a_manual() {
    let page = run(&["man"]);
    assert_eq!(page.code, Some(0));
    assert!(page.stdout.contains(".TH zot 1"), "{}", page.stdout);
    for command in commands() {
        let own = run(&["man", &command]);
        assert_eq!(own.code, Some(0), "{command}");
        assert!(
            own.stdout.contains(&format!(".TH zot-{command} 1")),
            "{command}"
        );
    }
    assert_eq!(run(&["man", "nonsense"]).code, Some(2));
}
