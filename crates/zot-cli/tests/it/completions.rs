//! `zot completions` and `zot man`: they know every command, flag, provider and model.

use std::process::{Command, Stdio};

use testkit::{Finished, Workdir, ZotCommand};

use crate::support::binary;
use crate::terminal::Terminal;

fn run(arguments: &[&str]) -> Finished {
    let workdir = Workdir::new("work");
    ZotCommand::new(binary(), &workdir)
        .arguments(arguments)
        .run("")
}

/// Returns the commands that the error about an unknown one lists.
fn commands() -> Vec<String> {
    let stderr = run(&["nonsense"]).stderr;
    let list = stderr
        .split('(')
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    list.unwrap().split(", ").map(str::to_owned).collect()
}

/// Returns the long flags that `--help` shows.
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

/// Returns what bash completes `line` to, one word per line.
fn completed(line: &str) -> String {
    let script = run(&["completions", "bash"]).stdout;
    let words: Vec<&str> = line.split(' ').collect();
    let [.., before, last] = words.as_slice() else {
        panic!("{line:?} is too short");
    };
    let check = format!(
        "{script}\nCOMP_WORDS=({line}); COMP_CWORD={}; _zot zot '{last}' '{before}'; printf '%s\\n' \
         \"${{COMPREPLY[@]}}\"",
        words.len() - 1
    );
    let output = Command::new("bash")
        .args(["--norc", "-c", &check])
        .stdin(Stdio::null())
        .output()
        .expect("run bash");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[test]
fn bash_completes_commands_providers_and_models() {
    for (line, expected) in [
        ("zot logi", "login"),
        ("zot --provider offl", "offline"),
        ("zot rpc --provider offl", "offline"),
        ("zot doctor --provider anth", "anthropic"),
        ("zot login anth", "anthropic"),
        ("zot logout anth", "anthropic"),
        ("zot --model gpt-4o-mi", "gpt-4o-mini"),
        ("zot -p --fallback olla", "ollama"),
        ("zot sessions expo", "export"),
    ] {
        assert_eq!(completed(line), expected, "{line}");
    }
}

#[test]
fn the_providers_of_the_user_are_completed() {
    let workdir = Workdir::new("work");
    std::fs::create_dir_all(workdir.zot_home()).unwrap();
    let providers = r#"{"providers": {"attic": {"wire": "openai", "baseUrl": "http://127.0.0.1:9/v1", "defaultModel": "house"}}}"#;
    std::fs::write(workdir.zot_home().join("providers.json"), providers).unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = ZotCommand::new(binary(), &workdir)
            .arguments(["completions", shell])
            .run("");
        assert!(
            script.stdout.contains("attic"),
            "{shell}: {}",
            script.stderr
        );
    }
}

/// Clap's script for fish completes neither values before a subcommand nor arguments.
#[test]
fn the_script_for_fish_is_completed() {
    let script = run(&["completions", "fish"]).stdout;
    let parsing = script.split("function __fish_zot_needs_command").nth(1);
    let parsing = parsing.unwrap().split("\nend\n").next().unwrap();
    assert!(parsing.contains("argparse"), "{parsing}");
    assert!(!parsing.contains("or return"), "{parsing}");
    let login = "complete -c zot -n \"__fish_zot_using_subcommand login\" -f -a \"anthropic ";
    assert!(script.contains(login));
}

/// Zsh would complete free words in place of subcommands and providers.
#[test]
fn the_script_for_zsh_has_no_free_words() {
    let script = run(&["completions", "zsh"]).stdout;
    assert!(!script.contains("::words -- What to do"));
    assert!(!script.contains("::surplus"));
    assert!(script.contains("\":: :_zot_commands\""));
}

/// With the tab key, as a user does it.
#[test]
fn a_tab_completes_in_an_interactive_bash() {
    let terminal = Terminal::open("completions bash > zot.bash");
    terminal.wait_for_shell();
    terminal.type_line("PS1='bash> ' bash --norc --noprofile -i");
    terminal.wait_for("bash>");
    terminal.type_line("source zot.bash && echo sou''rced");
    terminal.wait_for("sourced");
    terminal.type_text("zot --provider anth");
    terminal.press("Tab");
    terminal.wait_for("zot --provider anthropic");
    // tmux would take a text that begins with dashes for an option.
    terminal.type_text(" --model gpt-4o-mi");
    terminal.press("Tab");
    terminal.wait_for("--model gpt-4o-mini");
}

#[test]
fn every_command_has_a_manual_page() {
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

#[test]
fn every_command_has_its_own_help() {
    let general = run(&["--help"]).stdout;
    for command in commands() {
        let help = run(&[&command, "--help"]);
        assert_eq!(help.code, Some(0), "{command}: {}", help.stderr);
        let usage = format!("Usage: zot {command}");
        assert!(help.stdout.contains(&usage), "{}", help.stdout);
        let about = help.stdout.lines().next().unwrap_or_default();
        let listed = format!("  {command:<11}  {about}");
        assert!(general.contains(&listed), "{listed}");
    }
}

#[test]
fn errors_show_the_usage_of_the_subcommand() {
    for command in ["rpc", "doctor", "context", "sessions"] {
        let error = run(&[command, "--nonsense"]);
        assert_eq!(error.code, Some(2));
        let usage = format!("Usage: zot {command} [");
        assert!(error.stderr.contains(&usage), "{}", error.stderr);
    }
}

#[test]
fn the_short_help_shows_ten_options() {
    let help = run(&["-h"]).stdout;
    let common = help.split("Common options:\n").nth(1).unwrap();
    let common = common.split("\n\n").next().unwrap();
    let options = common.lines().map(str::trim_start);
    let options = options
        .filter(|line| line.starts_with('-') && line.contains("  "))
        .count();
    assert_eq!(options, 10, "{help}");
    assert!(!help.contains("--cassette"), "{help}");
    assert!(help.contains("zot --help shows all options"), "{help}");
    let help = run(&["--help"]).stdout;
    let headings = help
        .lines()
        .filter(|line| line.ends_with(':') && !line.starts_with(' '));
    let headings: Vec<&str> = headings.collect();
    assert_eq!(
        headings,
        [
            "Commands:",
            "Arguments:",
            "Common options:",
            "Model:",
            "Tools and permissions:",
            "Sandbox:",
            "Instructions and skills:",
            "Sessions:",
            "Input and output:",
            "Limits:",
            "Extensions:",
            "MCP servers:",
            "Recordings:",
            "Other:",
        ]
    );
}
