//! MCP servers in the chat.

use super::*;
use crate::mcp_user::hotel;

fn with_project(variables: &str) -> Terminal {
    Terminal::open_prepared(variables, "--provider offline", |_, workdir| {
        std::fs::write(workdir.path().join(".mcp.json"), hotel()).unwrap();
    })
}

#[test]
fn a_projects_servers_are_asked_about_once_and_used() {
    let terminal = with_project("");
    let screen = terminal.wait_for("this project wants to start 1 MCP server");
    assert!(screen.contains("python3 -B "), "{screen}");
    terminal.press("y");
    terminal.type_text("/hotel");
    terminal.wait_for("▸ /hotel__trip  CITY [DAYS]  Plans a trip");
    terminal.press("C-u");
    // A tool asks with a form.
    terminal.type_line("call hotel__book {}");
    terminal.wait_for("▸ Full name  required");
    terminal.type_line("Ada");
    terminal.type_line("ada@example.com");
    terminal.press("Right");
    terminal.press("C-s");
    terminal.wait_for("\"room\": \"doub");
    // A page is only opened when told to.
    terminal.type_line("call hotel__pay {}");
    terminal.wait_for("it leads to pay.example");
    terminal.press("n");
    terminal.wait_for("answer {\"action\": \"decline\"}");
    // Progress is shown while a call runs.
    terminal.type_line("call hotel__count {}");
    terminal.wait_for("2/3");
    terminal.wait_for("Go on?");
    terminal.press("Escape");
    terminal.wait_for("answer {\"action\": \"cancel\"}");
    terminal.type_text("what is in @hotel:mem");
    terminal.wait_for("▸ hotel:memo://first");
    terminal.press("Tab");
    terminal.wait_for("attached: [hotel:memo://first resource]");
    terminal.press("Enter");
    terminal.wait_for("[hotel:memo://first 17 B]");
    terminal.type_line("/mcp restart hotel");
    terminal.wait_for("restarting the MCP server hotel");
    terminal.type_line("/mcp disable hotel");
    terminal.wait_for("disabled the MCP server hotel");
    terminal.type_line("/mcp");
    terminal.wait_for("▸ hotel  disabled");
    terminal.press("Escape");
    terminal.wait_until("the list to close", |screen| {
        !screen.contains("mcp servers:")
    });
    terminal.type_line("/exit");
    terminal.wait_for_shell();
    // The answer is remembered.
    terminal.type_line(&format!("clear; {}", terminal.command));
    terminal.wait_until("another chat", |screen| {
        screen.starts_with("zot ") && screen.contains("\n❯")
    });
}

#[test]
fn a_chat_of_lines_asks_the_same() {
    let terminal = with_project("TERM=dumb");
    terminal.wait_for("do you trust this project, and start them?");
    terminal.type_line("y");
    terminal.wait_for("MCP server hotel: ready · 3 tools, 1 prompt, 1 resource");
    terminal.type_line("call hotel__book {}");
    terminal.wait_for("hotel asks:");
    terminal.type_line("Ada");
    terminal.wait_for("email, an email address");
    terminal.type_line("ada@example.com");
    terminal.wait_for("2  double");
    terminal.type_line("2");
    terminal.wait_for("1  yes");
    terminal.type_line("no");
    terminal.wait_for("y send this");
    terminal.type_line("y");
    terminal.wait_for("\"room\": \"doub");
    terminal.type_line("call hotel__pay {}");
    terminal.wait_for("it leads to pay.example");
    terminal.type_line("n");
    terminal.wait_for("answer {\"action\": \"decline\"}");
}
