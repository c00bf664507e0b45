//! Makes two runs comparable: masks what may differ and joins what only timing separates.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};
use serde_json::{Value, json};

use super::Pace;
use crate::Workdir;

/// The paths of a run that are masked in recordings.
pub(super) struct Masks {
    cwd: String,
    home: String,
    extensions: String,
}

impl Masks {
    pub(super) fn of(workdir: &Workdir) -> Self {
        Self {
            cwd: workdir.parent().display().to_string(),
            home: workdir.homes().display().to_string(),
            extensions: workdir.extension_directories().display().to_string(),
        }
    }
}

/// One line of a recording.
enum Line {
    Frame(Direction, Value),
    Text(String),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Sent,
    Received,
}

impl Direction {
    fn mark(self) -> &'static str {
        match self {
            Self::Sent => "> ",
            Self::Received => "< ",
        }
    }
}

impl Line {
    fn received(&self) -> Option<&Value> {
        match self {
            Self::Frame(Direction::Received, frame) => Some(frame),
            _ => None,
        }
    }

    fn into_text(self) -> String {
        match self {
            Self::Frame(direction, frame) => format!("{}{}", direction.mark(), spaced(&frame)),
            Self::Text(text) => text,
        }
    }
}

pub(super) fn normalise(lines: &[String], pace: Pace, masks: &Masks) -> Vec<String> {
    let failed = !lines.iter().any(|line| line == "# exit 0");
    let mut out: Vec<Line> = Vec::new();
    for line in lines {
        let Some(line) = read_line(line, failed, masks) else {
            continue;
        };
        if !joined(&mut out, &line, pace) {
            out.push(line);
        }
    }
    match pace {
        Pace::Steady => {}
        Pace::Racy => out = without_timing(out),
        Pace::Extension => out = extension_frames(out),
    }
    // These appear on a busy machine only.
    out.retain(|line| !is_waiting_notice(line));
    // Unprompted messages of extensions arrive at any time.
    let (late, mut out): (Vec<Line>, Vec<Line>) = out.into_iter().partition(is_unprompted);
    out.extend(late);
    out.into_iter().map(Line::into_text).collect()
}

fn read_line(line: &str, failed: bool, masks: &Masks) -> Option<Line> {
    let (direction, body) = if let Some(body) = line.strip_prefix("> ") {
        (Direction::Sent, body)
    } else if let Some(body) = line.strip_prefix("< ") {
        (Direction::Received, body)
    } else {
        return remark(line, failed, masks).map(Line::Text);
    };
    match serde_json::from_str::<Value>(body) {
        Ok(mut frame @ Value::Object(_)) => {
            mask_frame(&mut frame, masks);
            Some(Line::Frame(direction, frame))
        }
        _ => {
            let body = mask_version(&mask_text(body, masks));
            Some(Line::Text(format!("{}{body}", direction.mark())))
        }
    }
}

/// Keeps how a run ended and what it left behind; drops remarks of the recorder.
fn remark(line: &str, failed: bool, masks: &Masks) -> Option<String> {
    if let Some(record) = line.strip_prefix("# | ") {
        let mut record: Value = serde_json::from_str(record).ok()?;
        mask_frame(&mut record, masks);
        if let Some(id) = record["meta"].get_mut("id") {
            *id = json!("<uuid>");
        }
        return Some(format!("# | {}", spaced(&record)));
    }
    if let Some(path) = line.strip_prefix("# file ") {
        return Some(format!("# file {}", mask_session(&mask_text(path, masks))));
    }
    if let Some(text) = line.strip_prefix("# stderr ") {
        // The wording may differ, but a failure must be explained and a provider's error forwarded.
        return match (failed, is_provider_error(text)) {
            (false, _) => None,
            (true, true) => Some(line.to_owned()),
            (true, false) => Some("# stderr <text>".to_owned()),
        };
    }
    let is_kept = ["# exit", "# SIGTERM", "# hanging"];
    let is_kept = is_kept.iter().any(|start| line.starts_with(start));
    is_kept.then(|| line.to_owned())
}

/// Joins `line` to the previous one if only timing separates them.
fn joined(out: &mut [Line], line: &Line, pace: Pace) -> bool {
    let Some(last) = out.last_mut() else {
        return false;
    };
    if let (Line::Text(last), Line::Text(text)) = (&*last, line) {
        return last == text && text == "# stderr <text>";
    }
    let (Line::Frame(Direction::Received, last), Some(frame)) = (last, line.received()) else {
        return false;
    };
    let kind = frame["type"].as_str().unwrap_or_default();
    let field = match (kind, pace) {
        ("tool_progress", _) => "text",
        ("text_delta" | "tool_use_args", Pace::Racy) => "delta",
        _ => return false,
    };
    if last["type"] != frame["type"] || last["id"] != frame["id"] {
        return false;
    }
    let whole = [&last[field], &frame[field]].map(|part| part.as_str().unwrap_or_default());
    last[field] = json!(whole.concat());
    true
}

/// Groups the lines: sent ones, then events with one run of deltas per prompt, then responses to side
/// commands.
fn without_timing(lines: Vec<Line>) -> Vec<Line> {
    let mut groups = [Vec::new(), Vec::new(), Vec::new()];
    let mut streamed = false;
    for mut line in lines {
        let mut group = 1;
        match &mut line {
            Line::Frame(Direction::Sent, _) => group = 0,
            Line::Text(text) => group = usize::from(!text.starts_with("> ")),
            Line::Frame(Direction::Received, frame) => match frame["type"].as_str() {
                Some("text_delta" | "tool_use_args") => {
                    if std::mem::replace(&mut streamed, true) {
                        continue;
                    }
                    frame["delta"] = json!("<some>");
                }
                Some("done") => streamed = false,
                Some("assistant_message") => frame["content"] = json!("<partial>"),
                Some("response") => {
                    let command = frame["command"].as_str().unwrap_or_default();
                    if !matches!(command, "prompt" | "compact") {
                        group = 2;
                    }
                    if command == "get_messages" {
                        frame["data"] = json!("<depends on timing>");
                    }
                }
                _ => {}
            },
        }
        groups[group].push(line);
    }
    groups.into_iter().flatten().collect()
}

/// Returns whether a line reports that a prompt waits for a slow extension.
fn is_waiting_notice(line: &Line) -> bool {
    line.received().is_some_and(|frame| {
        let message = frame["message"].as_str().unwrap_or_default();
        frame["type"] == "ext_notify" && message.starts_with("waiting for extension ")
    })
}

fn is_unprompted(line: &Line) -> bool {
    let kind = line.received().map(|frame| &frame["type"]);
    kind.is_some_and(|kind| kind == "ext_notify" || kind == "ext_display")
}

/// Groups the frames: the greeting, then everything except events, then sorted events. Renumbers ids.
fn extension_frames(lines: Vec<Line>) -> Vec<Line> {
    let mut groups = [Vec::new(), Vec::new(), Vec::new()];
    let mut ids = Vec::new();
    for mut line in lines {
        let mut group = 1;
        if let Line::Frame(direction, frame) = &mut line {
            number_id(frame, &mut ids);
            match (direction, frame["type"].as_str()) {
                (Direction::Sent, Some("hello_ack")) => group = 0,
                (Direction::Sent, Some("event")) => group = 2,
                _ => {}
            }
        }
        groups[group].push(line.into_text());
    }
    groups[2].sort();
    groups.into_iter().flatten().map(Line::Text).collect()
}

fn number_id(frame: &mut Value, ids: &mut Vec<String>) {
    let kind = frame["type"].as_str().unwrap_or_default();
    let is_request = matches!(kind, "tool_call" | "event_intercept" | "command_invoked");
    let is_response = matches!(
        kind,
        "tool_result" | "event_intercept_response" | "command_response"
    );
    if let Some(Value::String(id)) = frame.get_mut("id")
        && (is_request || is_response)
    {
        let known = ids.iter().position(|known| known == id);
        let number = known.unwrap_or_else(|| {
            ids.push(id.clone());
            ids.len() - 1
        });
        *id = format!("<cid{}>", number + 1);
    }
}

/// Formats JSON as in the recordings, so that `diff` shows real differences only.
fn spaced(value: &Value) -> String {
    struct Spaced;
    impl Formatter for Spaced {
        fn begin_array_value<W: ?Sized + Write>(
            &mut self,
            writer: &mut W,
            first: bool,
        ) -> io::Result<()> {
            writer.write_all(if first { b"" } else { b", " })
        }

        fn begin_object_key<W: ?Sized + Write>(
            &mut self,
            writer: &mut W,
            first: bool,
        ) -> io::Result<()> {
            writer.write_all(if first { b"" } else { b", " })
        }

        fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
            writer.write_all(b": ")
        }
    }
    let mut out = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut out, Spaced);
    value
        .serialize(&mut serializer)
        .expect("a value can be written to memory");
    String::from_utf8_lossy(&out).into_owned()
}

/// Takes away what we add to frames that the original has, too: clients that know only the original
/// protocol do not look at it, and the tests of each addition do.
fn without_additions(frame: &mut Value) {
    let Value::Object(fields) = frame else {
        return;
    };
    if fields.get("success") == Some(&Value::Bool(false))
        || fields.get("type").is_some_and(|kind| kind == "error")
    {
        fields.remove("code");
        fields.remove("retry_after_ms");
        fields.remove("provider");
        fields.remove("alternatives");
    }
    if let Some(Value::Object(data)) = fields.get_mut("data") {
        data.remove("capabilities");
    }
}

fn mask_frame(frame: &mut Value, masks: &Masks) {
    without_additions(frame);
    let kind = frame["type"].as_str().unwrap_or_default().to_owned();
    let words = match kind.as_str() {
        "response" if frame["success"] == false => Some("error"),
        "turn_end" => Some("error"),
        "error" => Some("message"),
        _ => None,
    };
    if let Some(Value::String(text)) = words.and_then(|field| frame.get_mut(field))
        && !text.is_empty()
        && !is_provider_error(text)
    {
        "<error>".clone_into(text);
    }
    mask_value(frame, masks);
}

fn mask_value(value: &mut Value, masks: &Masks) {
    match value {
        Value::String(text) => *text = mask_text(text, masks),
        Value::Array(items) => items.iter_mut().for_each(|item| mask_value(item, masks)),
        Value::Object(fields) => {
            // What the system does not enforce of a sandbox.
            fields.remove("caveats");
            let failed_tool = fields.get("is_error") == Some(&Value::Bool(true));
            for (name, field) in fields.iter_mut() {
                match (name.as_str(), &*field) {
                    // The original forgets the time of messages that were replaced.
                    ("time", Value::String(time))
                        if time.starts_with("0001-") || time == "<zero time>" =>
                    {
                        *field = json!("<zero time>");
                    }
                    ("time" | "started", Value::String(_)) => *field = json!("<time>"),
                    ("version" | "zot_version", Value::String(_)) => *field = json!("<version>"),
                    ("cost_usd", Value::Number(cost)) => {
                        let cost = cost.as_f64().unwrap_or_default();
                        let cost = (cost * 1e9).round() / 1e9;
                        *field = if cost == 0.0 { json!(0) } else { json!(cost) };
                    }
                    ("content", Value::Array(_)) if failed_tool => {
                        mask_tool_error(field);
                        mask_value(field, masks);
                    }
                    _ => mask_value(field, masks),
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// What a tool says about its own failure is for the model to read; the output of a command that
/// failed is not wording.
fn mask_tool_error(content: &mut Value) {
    for block in content.as_array_mut().into_iter().flatten() {
        if let Some(Value::String(text)) = block.get_mut("text")
            && !text.is_empty()
            && !text.starts_with("$ ")
        {
            "<error>".clone_into(text);
        }
    }
}

fn is_provider_error(text: &str) -> bool {
    let text = text.strip_prefix("# stderr ").unwrap_or(text);
    let text = text.strip_prefix("zot: ").unwrap_or(text);
    ["openai", "anthropic", "ollama"]
        .iter()
        .any(|name| text.starts_with(&format!("{name}: http ")))
}

fn mask_text(text: &str, masks: &Masks) -> String {
    let text = text.replace(&masks.cwd, "<cwd>");
    let text = text.replace(&masks.home, "<home>");
    let text = text.replace(&masks.extensions, "<exts>");
    let number = |c: char| c.is_ascii_digit() || c == '.';
    let text = mask_after(&text, "Took ", number, "s", "<dur>");
    let digit = |c: char| c.is_ascii_digit();
    let text = mask_after(&text, "127.0.0.1:", digit, "", "<port>");
    let hex = |c: char| c.is_ascii_hexdigit();
    mask_after(&text, "zot-bash-", hex, "", "<rnd>")
}

/// Replaces the run of characters of `class`, and `suffix`, behind each `prefix`.
fn mask_after(
    text: &str,
    prefix: &str,
    class: impl Fn(char) -> bool,
    suffix: &str,
    mask: &str,
) -> String {
    let mut parts = text.split(prefix);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(prefix);
        let rest = part.trim_start_matches(&class);
        match rest.strip_prefix(suffix) {
            Some(rest) if part.len() > rest.len() && !part.starts_with('<') => {
                out.push_str(mask);
                out.push_str(rest);
            }
            _ => out.push_str(part),
        }
    }
    out
}

fn mask_version(text: &str) -> String {
    match text.strip_prefix("zot ") {
        Some(version) if version.starts_with(|c: char| c.is_ascii_digit()) => {
            "zot <version>".to_owned()
        }
        _ => text.to_owned(),
    }
}

/// `…/sessions/HASH/STAMP-ID.jsonl`, whatever its variable parts.
fn mask_session(path: &str) -> String {
    let Some((before, rest)) = path.split_once("/sessions/") else {
        return path.to_owned();
    };
    match rest.split('/').collect::<Vec<_>>().as_slice() {
        [_, file] if file.ends_with(".jsonl") => {
            format!("{before}/sessions/<cwdhash>/<session>.jsonl")
        }
        _ => path.to_owned(),
    }
}
