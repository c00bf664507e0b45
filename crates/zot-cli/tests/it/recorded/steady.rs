//! Recordings in which every command was sent after the one before was finished.

use serde_json::Value;
use testkit::{ModelServer, PATIENCE, Pace, Workdir, Zot};

use super::{fixtures, recordings, rpc_command};

recordings! { replay:
    clear
    compact_ok
    compact_short
    err401
    err401_anthropic
    err503
    err503_anthropic
    get_models
    get_state_before_after
    hello
    loop3
    loop3_anthropic
    malformed_json
    max_steps
    missing_id
    multi_tools
    multi_tools_anthropic
    ollama
    ping
    prompt_bash
    prompt_bash_anthropic
    prompt_image
    prompt_image_anthropic
    prompt_text
    prompt_text_anthropic
    set_model
    stream_length
    stream_length_anthropic
    stream_utf8
    stream_utf8_anthropic
    system_prompt
    token_bad
    token_good
    tool_bash_variants
    tool_edit_variants
    tool_read_image
    tool_read_variants
    tool_write_variants
    unknown_command
}

/// What `malformed_json` sent. Its recording shows the lines after they were decoded.
const MALFORMED: [&[u8]; 14] = [
    b"{",
    b"not json",
    b"[]",
    b"5",
    b"\"str\"",
    b"null",
    b"true",
    b"{\"type\":5}",
    b"{\"type\":\"ping\"} trailing",
    b"{\"id\":\"a\",\"type\":\"ping\"}{\"id\":\"b\",\"type\":\"ping\"}",
    b"{\"type\":\"ping\",\"id\":\"k\",\"id\":\"l\"}",
    b"{\"TYPE\":\"ping\",\"ID\":\"upper\"}",
    b"{\"type\":\"ping\",\"id\":\"\\ud800\"}",
    b"\xff\xfe",
];

fn replay(name: &str) {
    let workdir = Workdir::with_files(name);
    let server = ModelServer::start();
    let mut zot = rpc_command(&workdir, &server).spawn();
    let lines: Vec<Vec<u8>> = if name == "malformed_json" {
        MALFORMED.iter().map(|line| line.to_vec()).collect()
    } else {
        let lines = fixtures().sent_lines(name).into_iter();
        lines.map(String::into_bytes).collect()
    };
    for mut line in lines {
        line.push(b'\n');
        zot.send_bytes(&line);
        // The comparison shows what is missing.
        if wait_until_finished(&mut zot, &line).is_err() {
            break;
        }
    }
    fixtures().check(&workdir, Pace::Steady, &zot.finish().transcript);
}

/// Waits for the last frame that the command in `line` causes.
fn wait_until_finished(zot: &mut Zot, line: &[u8]) -> Result<(), &'static str> {
    let command: Value = serde_json::from_slice(line).unwrap_or_default();
    let last: fn(&Value) -> bool = match command["type"].as_str() {
        Some("prompt") => |frame| frame["type"] == "done" || refused(frame),
        Some("compact") => {
            |frame| frame["type"] == "compact_done" || frame["type"] == "done" || refused(frame)
        }
        _ => |frame| frame["type"] == "response",
    };
    zot.try_collect_until(last, PATIENCE).map(drop)
}

fn refused(frame: &Value) -> bool {
    frame["type"] == "response" && frame["success"] == false
}
