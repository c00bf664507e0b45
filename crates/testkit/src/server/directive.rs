//! The directives and the responses they produce.
//!
//! `say:N` · `tool:NAME:JSON` · `loop:K:NAME:JSON` (`%STEP%` in it is the number of the call) ·
//! `multi:[{"name","args"}]` · `texttool:NAME:JSON` · `badargs:NAME:TEXT` · `noargs:NAME` · `slowtool:MS:NAME:JSON` ·
//! `raw:TEXT` · `rawloop:K:TEXT` · `code:TEXT` · `utf8` · `empty` · `length` · `slow:N:MS` ·
//! `lines:N:MS:FORM` (numbered, as `paragraphs`, a `list` or `code`) ·
//! `hang` · `hangmid` · `cut` · `garbage` · `errmid` · `err:STATUS[:TEXT]` · `errthen:STATUS:K` ·
//! `errheaders:STATUS:K:NAME=VALUE,…` · `errwait:STATUS:RETRY-AFTER` · `cutcall:NAME:TEXT` · `flood:BYTES`; around any of them `split:N:` · `cutat:N:` · `crlf:` · `delay:MS:` ·
//! `think:TEXT:` · `reset:K:` · `overflow:K:` · `retryafter:S:`. Anything else produces `ok`.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::Shared;
use super::conversation::Conversation;

/// The words `say` and `slow` are made of.
pub(super) const WORDS: [&str; 8] = [
    "alpha ", "beta ", "gamm ", "delta ", "epsi ", "zeta ", "theta ", "iota ",
];

/// What to send and how.
#[derive(Debug, Default)]
pub(super) struct Plan {
    pub(super) transport: Transport,
    pub(super) answer: Answer,
}

/// How the bytes of a response reach the client.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Transport {
    pub(super) before_headers: Duration,
    /// Write the body in pieces of this many bytes.
    pub(super) segment: Option<usize>,
    /// Close the connection after this many body bytes.
    pub(super) cut_at: Option<usize>,
    /// CRLF line ends, comments, multi-line data.
    pub(super) odd_lines: bool,
}

#[derive(Debug)]
pub(super) enum Answer {
    Completion(Completion),
    Status {
        status: u16,
        message: String,
        headers: Vec<(String, String)>,
    },
    /// The error of a provider for a conversation that exceeds the context window.
    ContextOverflow,
    Hang,
    /// The connection is reset before any byte.
    Reset,
    /// One text delta of this many bytes that never ends.
    Flood(usize),
}

impl Default for Answer {
    fn default() -> Self {
        Self::Completion(Completion::default())
    }
}

/// A response of the model.
#[derive(Debug, Default)]
pub(super) struct Completion {
    pub(super) thinking: Option<String>,
    /// Text deltas made of [`WORDS`], sent from a prebuilt blob; excludes `pieces`.
    pub(super) say: usize,
    pub(super) pieces: Vec<String>,
    pub(super) tools: Vec<ToolUse>,
    pub(super) stop: Stop,
    pub(super) ending: Ending,
    pub(super) between_events: Duration,
}

#[derive(Debug)]
pub(super) struct ToolUse {
    pub(super) name: String,
    pub(super) arguments: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    #[default]
    End,
    ToolUse,
    Length,
}

/// What happens after the deltas.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    #[default]
    Complete,
    /// A malformed data line among the deltas, then a normal end.
    Garbage,
    Silence,
    /// The connection closes without the end marker.
    Cut,
    ErrorEvent,
}

/// Why a directive is invalid.
#[derive(Debug)]
pub(super) struct BadDirective(pub(super) String);

pub(super) fn plan(seen: &Conversation, text: &str, shared: &Shared) -> Result<Plan, BadDirective> {
    if let Some((_, script)) = text.split_once(" [KCR] ") {
        return Ok(say_pieces(split_characters(
            &format!("#!/bin/bash\n{script}"),
            5,
        )));
    }
    if text.starts_with("<conversation>") {
        return Ok(compaction(text));
    }
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    match kind {
        "split" | "cutat" | "crlf" | "delay" | "think" | "reset" | "overflow" | "retryafter" => {
            wrapped(seen, kind, rest, text, shared)
        }
        "tool" | "loop" | "texttool" | "badargs" | "noargs" | "slowtool" | "cutcall" => {
            tool_call(seen, kind, rest)
        }
        "multi" => several_tools(seen, rest),
        _ => simple(seen, kind, rest, text, shared),
    }
}

/// Applies a directive that wraps another one.
fn wrapped(
    seen: &Conversation,
    kind: &str,
    rest: &str,
    text: &str,
    shared: &Shared,
) -> Result<Plan, BadDirective> {
    if kind == "crlf" {
        let mut plan = plan(seen, rest, shared)?;
        plan.transport.odd_lines = true;
        return Ok(plan);
    }
    let (argument, inner) = head(rest)?;
    if matches!(kind, "reset" | "overflow" | "retryafter") {
        let failures = if kind == "retryafter" {
            1
        } else {
            number(argument)?
        };
        if shared.attempt(text) as usize > failures {
            return plan(seen, inner, shared);
        }
        return Ok(Plan::from(match kind {
            "reset" => Answer::Reset,
            "overflow" => Answer::ContextOverflow,
            _ => Answer::Status {
                status: 503,
                message: "scripted overload".to_owned(),
                headers: vec![("retry-after".to_owned(), argument.to_owned())],
            },
        }));
    }
    let mut plan = plan(seen, inner, shared)?;
    match kind {
        "split" => plan.transport.segment = Some(number(argument)?.max(1)),
        "cutat" => plan.transport.cut_at = Some(number(argument)?),
        "delay" => plan.transport.before_headers = milliseconds(argument)?,
        _ => {
            if let Answer::Completion(completion) = &mut plan.answer {
                completion.thinking = Some(argument.to_owned());
            }
        }
    }
    Ok(plan)
}

fn simple(
    seen: &Conversation,
    kind: &str,
    rest: &str,
    text: &str,
    shared: &Shared,
) -> Result<Plan, BadDirective> {
    Ok(match kind {
        "say" => {
            let digits = rest.find(|c: char| !c.is_ascii_digit());
            let digits = &rest[..digits.unwrap_or(rest.len())];
            let say = if digits.is_empty() {
                1
            } else {
                number(digits)?
            };
            completion(Completion {
                say,
                ..Completion::default()
            })
        }
        "raw" if seen.turns < 1 => say_pieces(split_characters(rest, 5)),
        "raw" => say_pieces(["final ", "answer"]),
        "rawloop" => {
            let (times, rest) = head(rest)?;
            if seen.turns < number(times)? {
                say_pieces(split_characters(rest, 5))
            } else {
                say_pieces(["final ", "answer"])
            }
        }
        "code" => say_pieces(split_characters(rest, 5)),
        "utf8" => say_pieces(["héé ", "日本 ", "<b>&", "\u{2028}x", "🎉!", "\"q\"\\\n"]),
        "empty" => completion(Completion::default()),
        "length" => completion(Completion {
            pieces: vec!["cut ".to_owned(), "off".to_owned()],
            stop: Stop::Length,
            ..Completion::default()
        }),
        "slow" => {
            let (count, pause) = head(rest)?;
            completion(Completion {
                pieces: words(number(count)?),
                between_events: milliseconds(pause)?,
                ..Completion::default()
            })
        }
        "lines" => {
            let (count, rest) = head(rest)?;
            let (pause, form) = head(rest)?;
            completion(Completion {
                pieces: numbered_lines(number(count)?, form),
                between_events: milliseconds(pause)?,
                ..Completion::default()
            })
        }
        "hang" => Plan::from(Answer::Hang),
        "hangmid" => ending(2, Ending::Silence),
        "cut" => ending(3, Ending::Cut),
        "garbage" => ending(4, Ending::Garbage),
        "errmid" => ending(2, Ending::ErrorEvent),
        "flood" => Plan::from(Answer::Flood(number(rest)?)),
        "err" | "errthen" | "errheaders" | "errwait" => error(kind, rest, text, shared)?,
        _ => say_pieces(["ok"]),
    })
}

fn error(kind: &str, rest: &str, text: &str, shared: &Shared) -> Result<Plan, BadDirective> {
    Ok(match kind {
        "err" => {
            let (status, message) = rest.split_once(':').unwrap_or((rest, ""));
            let message = if message.is_empty() {
                "scripted error"
            } else {
                message
            };
            Plan::from(status_answer(number(status)?, message.to_owned()))
        }
        "errthen" => {
            let (status, failures) = head(rest)?;
            let attempt = shared.attempt(text);
            if attempt as usize <= number(failures)? {
                let message = format!("scripted error {attempt}");
                Plan::from(status_answer(number(status)?, message))
            } else {
                say_pieces(["beta ", "ok"])
            }
        }
        "errheaders" => {
            let (status, rest) = head(rest)?;
            let (failures, headers) = head(rest)?;
            if shared.attempt(text) as usize <= number(failures)? {
                Plan::from(Answer::Status {
                    status: number(status)? as u16,
                    message: "scripted error".to_owned(),
                    headers: header_list(headers),
                })
            } else {
                say_pieces(["beta ", "ok"])
            }
        }
        _ => {
            let (status, wait) = head(rest)?;
            Plan::from(Answer::Status {
                status: number(status)? as u16,
                message: "scripted overload".to_owned(),
                headers: vec![("retry-after".to_owned(), wait.to_owned())],
            })
        }
    })
}

fn tool_call(seen: &Conversation, kind: &str, rest: &str) -> Result<Plan, BadDirective> {
    let (mut times, mut pause, mut rest) = (1, Duration::ZERO, rest);
    if kind == "slowtool" {
        let (argument, tail) = head(rest)?;
        (pause, rest) = (milliseconds(argument)?, tail);
    }
    if kind == "loop" {
        let (argument, tail) = head(rest)?;
        (times, rest) = (number(argument)?, tail);
    }
    if seen.turns >= times {
        return Ok(say_pieces(["all ", "done"]));
    }
    let (name, arguments) = rest.split_once(':').unwrap_or((rest, ""));
    let arguments = match kind {
        "noargs" => "",
        "badargs" | "cutcall" => arguments,
        _ if arguments.is_empty() => "{}",
        _ => arguments,
    };
    let text_first = kind == "texttool";
    Ok(completion(Completion {
        pieces: if text_first {
            vec!["let me ".to_owned(), "look. ".to_owned()]
        } else {
            Vec::new()
        },
        tools: vec![ToolUse {
            name: name.to_owned(),
            arguments: arguments.replace("%STEP%", &(seen.turns + 1).to_string()),
        }],
        stop: match kind {
            "cutcall" => Stop::Length,
            _ => Stop::ToolUse,
        },
        between_events: pause,
        ..Completion::default()
    }))
}

fn several_tools(seen: &Conversation, rest: &str) -> Result<Plan, BadDirective> {
    #[derive(Deserialize)]
    struct Call<'a> {
        name: String,
        #[serde(borrow)]
        args: Option<&'a RawValue>,
    }
    if seen.turns >= 1 {
        return Ok(say_pieces(["all ", "done"]));
    }
    let calls: Vec<Call<'_>> =
        serde_json::from_str(rest).map_err(|error| BadDirective(error.to_string()))?;
    let tools = calls.into_iter().map(|call| ToolUse {
        name: call.name,
        arguments: call
            .args
            .map_or_else(|| "{}".to_owned(), |raw| without_spaces(raw.get())),
    });
    Ok(completion(Completion {
        tools: tools.collect(),
        stop: Stop::ToolUse,
        ..Completion::default()
    }))
}

fn compaction(text: &str) -> Plan {
    if text.contains("COMPACT-ERR") {
        Plan::from(status_answer(500, "compact failed".to_owned()))
    } else if text.contains("COMPACT-HANG") {
        Plan::from(Answer::Hang)
    } else if text.contains("COMPACT-EMPTY") {
        completion(Completion::default())
    } else {
        say_pieces(["SUM", "MARY"])
    }
}

impl From<Answer> for Plan {
    fn from(answer: Answer) -> Self {
        Self {
            transport: Transport::default(),
            answer,
        }
    }
}

fn completion(completion: Completion) -> Plan {
    Plan::from(Answer::Completion(completion))
}

fn say_pieces<T: Into<String>>(pieces: impl IntoIterator<Item = T>) -> Plan {
    completion(Completion {
        pieces: pieces.into_iter().map(Into::into).collect(),
        ..Completion::default()
    })
}

fn ending(count: usize, ending: Ending) -> Plan {
    completion(Completion {
        pieces: words(count),
        ending,
        ..Completion::default()
    })
}

fn status_answer(status: usize, message: String) -> Answer {
    Answer::Status {
        status: status as u16,
        message,
        headers: short_wait(status as u16),
    }
}

/// Returns headers with a short wait, for statuses that clients retry.
pub(super) fn short_wait(status: u16) -> Vec<(String, String)> {
    match status {
        408 | 409 | 429 | 500.. => vec![("retry-after-ms".to_owned(), "1".to_owned())],
        _ => Vec::new(),
    }
}

/// Parses `name=value,name=value`.
fn header_list(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Returns numbered lines, each in two pieces.
fn numbered_lines(count: usize, form: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    for number in 1..=count {
        let (before, after) = match form {
            "list" => (format!("{number}. "), "\n"),
            "code" if number == 1 => ("```\n".to_owned(), "\n"),
            "code" => (String::new(), "\n"),
            _ => (String::new(), "\n\n"),
        };
        pieces.push(format!("{before}numbered "));
        pieces.push(format!("line {number}.{after}"));
    }
    pieces
}

fn words(count: usize) -> Vec<String> {
    let words = WORDS.iter().cycle().take(count);
    words.map(|word| (*word).to_owned()).collect()
}

/// Cuts `text` into pieces of `size` characters; an empty text is one empty piece.
pub(super) fn split_characters(text: &str, size: usize) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    if characters.is_empty() {
        return vec![String::new()];
    }
    characters
        .chunks(size)
        .map(|piece| piece.iter().collect())
        .collect()
}

/// Removes the insignificant white space of a JSON text and keeps the order of its keys.
fn without_spaces(json: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    json.chars()
        .filter(|&c| {
            let keep = in_string || !c.is_ascii_whitespace();
            match c {
                '"' if !escaped => in_string = !in_string,
                _ => {}
            }
            escaped = in_string && c == '\\' && !escaped;
            keep
        })
        .collect()
}

fn head(rest: &str) -> Result<(&str, &str), BadDirective> {
    rest.split_once(':')
        .ok_or_else(|| BadDirective(format!("`{rest}` lacks a colon")))
}

fn number(text: &str) -> Result<usize, BadDirective> {
    text.parse()
        .map_err(|_| BadDirective(format!("`{text}` is not a number")))
}

/// Parses milliseconds, possibly with a fraction.
fn milliseconds(text: &str) -> Result<Duration, BadDirective> {
    let milliseconds: Option<f64> = text.parse().ok();
    let duration = milliseconds.map(|number| Duration::try_from_secs_f64(number / 1e3));
    match duration {
        Some(Ok(duration)) => Ok(duration),
        _ => Err(BadDirective(format!(
            "`{text}` is not a number of milliseconds"
        ))),
    }
}
