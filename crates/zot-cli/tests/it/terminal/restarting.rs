//! A chat that restarts, with other keys or in a copy, keeps its state.

use testkit::poll_until;

use super::Terminal;

/// Returns the sequence that colours the bottom line; `None` while the screen is being drawn.
fn footer_colour(terminal: &Terminal) -> Option<String> {
    let shown = terminal.tmux(&["capture-pane", "-p", "-e"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    let footer = shown.trim_end().lines().last()?;
    let (_, sequence) = footer.split_once("38;5;")?;
    Some(sequence.split_once('m')?.0.to_owned())
}

/// Returns the colour of the bottom line once it differs from `before`.
fn settled_colour(terminal: &Terminal, before: Option<&str>) -> Option<String> {
    let mut colour = None;
    poll_until("a footer in another colour", || {
        colour = footer_colour(terminal);
        colour.is_some() && colour.as_deref() != before
    });
    colour
}

#[test]
fn a_copy_is_a_session_immediately_and_survives_a_logout() {
    let terminal = Terminal::open("--provider offline");
    terminal.wait_for("/help");
    terminal.type_line("run: echo first");
    terminal.wait_for("exit code 0");
    let dark = settled_colour(&terminal, None);
    terminal.type_line("/theme light");
    let light = settled_colour(&terminal, dark.as_deref());
    terminal.type_line("/session fork");
    terminal.wait_for("resumed a conversation of 4 messages");
    terminal.wait_until("the same colours", |_| footer_colour(&terminal) == light);
    terminal.type_line("/export copy.md");
    terminal.wait_for("copy.md: 4 messages");
    terminal.type_line("/logout nobody");
    terminal.wait_for("No credential for nobody");
    terminal.wait_until("the conversation", |screen| {
        let (_, after) = screen.rsplit_once("No credential for").unwrap_or_default();
        after.contains("a conversation of 4 messages")
    });
}

#[test]
fn an_unsaved_conversation_is_carried_over_and_stays_unsaved() {
    let terminal = Terminal::open("--provider offline --no-session");
    terminal.wait_for("/help");
    terminal.type_line("run: echo first");
    terminal.wait_for("exit code 0");
    terminal.type_line("/export");
    terminal.wait_for("this conversation is not saved (--no-session)");
    terminal.type_line("/confirm on");
    terminal.wait_for("asks before tools");
    terminal.type_line("/logout nobody");
    terminal.wait_for("No credential for nobody");
    terminal.wait_for("resumed a conversation of 4 messages");
    terminal.wait_for("asks before tools");
    terminal.type_line("run: echo second");
    terminal.wait_for("may zot run bash?");
    assert!(!terminal.workdir.zot_home().join("sessions").exists());
}

#[test]
fn a_copy_continues_with_the_chosen_model() {
    let terminal = Terminal::open("MODEL say:3");
    terminal.wait_for("alpha beta gamm");
    terminal.type_line("/model gpt-4o-mini");
    let footer = |screen: &str| screen.trim_end().lines().last().map(str::to_owned);
    let is_chosen =
        |screen: &str| footer(screen).is_some_and(|footer| footer.starts_with("gpt-4o-mini"));
    terminal.wait_until("the model", is_chosen);
    terminal.type_line("/session fork");
    terminal.wait_for("resumed a conversation of 2 messages");
    terminal.wait_until("the same model", is_chosen);
}

#[test]
fn without_a_key_the_session_continues_offline_and_offers_a_login() {
    let terminal = Terminal::open("--provider groq");
    terminal.wait_for("groq has no key, so this is the offline stand-in");
    terminal.wait_for("/login groq");
    terminal.type_line("run: echo still here");
    terminal.wait_for("exit code 0");
}
