//! `/model` with a custom server: any name is accepted.

use std::fs;

use serde_json::json;
use testkit::Wire;

use super::Terminal;

fn model_of_last_request(terminal: &Terminal) -> String {
    let requests = terminal.server.requests();
    let last = requests.last().map(|request| request.body["model"].clone());
    last.and_then(|model| model.as_str().map(str::to_owned))
        .unwrap_or_default()
}

fn takes_any_name(terminal: &Terminal) {
    terminal.wait_for("/help");
    for (number, model) in ["my-own-model:7b", "claude-opus-4-5"]
        .into_iter()
        .enumerate()
    {
        terminal.type_line(&format!("/model {model}"));
        terminal.wait_for(&format!("model \"{model}\" is not in the catalog"));
        terminal.type_line(&format!("say:{}", number + 1));
        terminal.wait_until("the request", |_| {
            terminal.server.requests().len() == number + 1
        });
        assert_eq!(model_of_last_request(terminal), model);
        terminal.wait_until("the end", |screen| {
            !screen.contains("esc to stop") && screen.contains(&format!("❯ say:{}", number + 1))
        });
    }
    let everything = terminal.everything();
    assert!(!everything.contains('✗'), "{everything}");
}

#[test]
fn any_model_name_is_accepted_with_a_custom_address() {
    takes_any_name(&Terminal::open("MODEL --no-session"));
}

#[test]
fn any_model_name_is_accepted_for_a_server_in_providers_json() {
    for (name, entry) in [
        ("openai", json!({})),
        ("ollama", json!({})),
        (
            "mine",
            json!({"wire": "openai", "key": "optional", "defaultModel": "gpt-4o"}),
        ),
    ] {
        let arguments = format!("--provider {name}");
        let terminal =
            Terminal::open_prepared("OPENAI_API_KEY=k", &arguments, |server, workdir| {
                let mut entry = entry;
                entry["baseUrl"] = json!(server.url(Wire::OpenAi));
                fs::create_dir_all(workdir.zot_home()).unwrap();
                let path = workdir.zot_home().join("providers.json");
                fs::write(path, json!({"providers": {name: entry}}).to_string()).unwrap();
            });
        takes_any_name(&terminal);
        terminal.type_line("/exit");
        terminal.wait_for_shell();
        terminal.tmux(&["send-keys", "-R"]);
        terminal.type_line(&terminal.command);
        terminal.wait_until("the same model", |screen| {
            let footer = screen.trim_end().lines().last().unwrap_or_default();
            footer.starts_with("claude-opus-4-5")
        });
    }
}

/// A name that is not listed can be typed into the list.
#[test]
fn a_model_name_can_be_typed_into_the_list() {
    let terminal = Terminal::open("MODEL --no-session");
    terminal.wait_for("/help");
    terminal.type_line("/model");
    terminal.wait_for("▸ gpt-4o");
    terminal.type_text("zzz-own-zzz");
    terminal.wait_until("no match", |screen| !screen.contains("▸ "));
    terminal.press("Enter");
    terminal.wait_for("model \"zzz-own-zzz\" is not in the catalog");
}
