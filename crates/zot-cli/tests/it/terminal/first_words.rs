//! First words that are mistyped subcommands.

use super::*;

/// Types zot with `arguments` and returns the screen once it has ended with exit code 2.
fn refused(terminal: &Terminal, number: usize, arguments: &str) -> String {
    terminal.type_line("clear");
    let program = terminal.command.replace("--version", "");
    terminal.type_line(&format!("{program} {arguments}; echo ended-{number}-$?"));
    let end = format!("\nended-{number}-2\n");
    // The terminal wraps long lines.
    terminal
        .wait_until(&end, |screen| screen.contains(&end))
        .replace('\n', "")
}

#[test]
fn a_mistyped_subcommand_is_never_sent() {
    let terminal = Terminal::open("--version");
    terminal.wait_for_shell();
    let model = format!(
        "--provider openai --model gpt-4o --api-key x --base-url {}",
        terminal.server.url(Wire::OpenAi)
    );
    let refused_with = |number: usize, arguments: &str, expected: &str| {
        let screen = refused(&terminal, number, arguments);
        assert!(screen.contains(expected), "{arguments}: {screen}");
    };
    for (number, typed, suggestion) in [
        (10, "help", "try `zot --help`, or `zot -- help`"),
        (20, "help sessions", "try `zot sessions --help`, or"),
        (30, "sesions", "try `zot sessions`, or `zot -- sesions`"),
        (40, "session list", "try `zot sessions list`, or"),
        (50, "models", "try `zot --list-models`, or"),
    ] {
        refused_with(number, &format!("{typed} {model}"), suggestion);
        refused_with(number + 1, &format!("{model} {typed}"), suggestion);
    }
    refused_with(
        60,
        &format!("{model} sessions list"),
        "must come before the options",
    );
    refused_with(70, "doctor now", "zot doctor takes only options");
    assert_eq!(terminal.server.requests().len(), 0);
}

#[test]
fn sentences_and_words_after_dashes_are_prompts() {
    for (arguments, prompt) in [
        ("MODEL -- help", "help"),
        ("MODEL -- rpc", "rpc"),
        ("MODEL 'help me'", "help me"),
        ("MODEL 'sesions are slow'", "sesions are slow"),
        ("MODEL can you see", "can you see"),
    ] {
        let terminal = Terminal::open(arguments);
        terminal.wait_for("\nok");
        assert_eq!(terminal.server.requests()[0].prompt(), prompt);
        terminal.type_line("/exit");
        terminal.wait_for_shell();
    }
}
