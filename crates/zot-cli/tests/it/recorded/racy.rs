//! Recordings in which something was sent, or closed, in the middle of a turn.

use serde_json::json;
use testkit::{ModelServer, Pace, Workdir, Zot};

use super::{fixtures, recordings, rpc_command};

recordings! { replay:
    abort_bash
    abort_midstream
    abort_midstream_anthropic
    stdin_close_midturn
    two_prompts_queued
}

fn replay(name: &str) {
    let workdir = Workdir::with_files(name);
    let server = ModelServer::start();
    let mut zot = rpc_command(&workdir, &server).spawn();
    match name {
        "abort_bash" => abort_command(&mut zot),
        "stdin_close_midturn" => {
            zot.prompt("1", "slow:8:40");
            zot.event("text_delta");
            zot.close_stdin();
            zot.event("done");
        }
        "two_prompts_queued" => two_prompts(&mut zot),
        _ => abort_text(&mut zot),
    }
    fixtures().check(&workdir, Pace::Racy, &zot.finish().transcript);
}

fn abort_text(zot: &mut Zot) {
    zot.prompt("1", "slow:200:20");
    zot.event("text_delta");
    zot.event("text_delta");
    zot.send(json!({"id": "2", "type": "abort"}));
    zot.event("done");
    look_and_go_on(zot, "3");
}

fn abort_command(zot: &mut Zot) {
    zot.prompt(
        "1",
        "tool:bash:{\"command\": \"echo start; sleep 30; echo end\"}",
    );
    zot.event("tool_progress");
    zot.send(json!({"id": "a", "type": "abort"}));
    zot.event("done");
    look_and_go_on(zot, "2");
}

fn look_and_go_on(zot: &mut Zot, next: &str) {
    zot.call(json!({"id": "s", "type": "get_state"}));
    zot.call(json!({"id": "m", "type": "get_messages"}));
    zot.turn(next, "say:1");
}

fn two_prompts(zot: &mut Zot) {
    zot.prompt("1", "slow:5:60");
    zot.wait_for(|frame| frame["type"] == "response" && frame["id"] == "1");
    // The recording's get_state shows the prompt's message in the transcript.
    zot.event("user_message");
    zot.prompt("2", "say:2");
    zot.send(json!({"id": "p", "type": "ping"}));
    zot.send(json!({"id": "s", "type": "get_state"}));
    zot.event("done");
    zot.event("done");
    zot.call(json!({"id": "m", "type": "get_messages"}));
}
