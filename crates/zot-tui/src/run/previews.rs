//! Previews of choices. They may read files, so they run as jobs.

mod file;
mod servers;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;

use zot_sdk::Runtime;
use zot_sdk::conversation::Timestamp;
use zot_sdk::conversation::{ContentBlock, Message, Role};
use zot_sdk::credentials::Credentials;
use zot_sdk::models::today;
use zot_sdk::sessions::{Summary, last_prompts};

use super::listings::{describe_credential, first_line, turns};
use super::themes;
use crate::app::{Input, Preview, PreviewBody, Subject};

/// How much of a session's end is searched for the last prompts.
///
/// Limit: the preview shows only the end of a session.
const SESSION_PREVIEW_BYTES: u64 = 256 * 1024;
const LAST_PROMPTS: usize = 3;

/// How much of a text is shown: more than fits on any screen.
///
/// Limit: the preview shows only the beginning of a text.
const MAX_TEXT_PREVIEW_BYTES: usize = 4 * 1024;

/// Where previews come from.
pub(super) struct Sources {
    pub(super) runtime: Arc<Runtime>,
    /// The listed sessions.
    pub(super) sessions: Arc<[Summary]>,
    pub(super) themes: Option<PathBuf>,
}

impl Sources {
    pub(super) fn preview(&self, subject: Subject) -> Input {
        let preview = match &subject {
            Subject::Model(id) => self.model(id),
            Subject::Prompt(index) => self.prompt(*index),
            Subject::Session(id) => {
                let session = self.sessions.iter().find(|one| one.id.starts_with(id));
                session.map(session_preview)
            }
            Subject::File(name) => Some(match servers::resource(&self.runtime, name) {
                Some(preview) => preview,
                None => file::preview(self.runtime.cwd(), name),
            }),
            Subject::Server(name) => servers::server(&self.runtime, name),
            Subject::Skill(name) => self.skill(name),
            Subject::Theme(name) => Some(self.theme(name)),
            Subject::Provider(name) => Some(self.provider(name)),
        };
        let preview = preview.unwrap_or_else(|| facts(vec!["no longer exists".to_owned()]));
        Input::Preview { subject, preview }
    }

    fn model(&self, id: &str) -> Option<Preview> {
        let catalog = self.runtime.catalog();
        let model = catalog.find(self.runtime.provider(), id)?;
        let window = match model.context_window {
            0 => "context unknown".to_owned(),
            tokens => format!("context {} tokens", grouped(tokens)),
        };
        let thinking = match model.reasoning {
            true => "can think",
            false => "cannot think",
        };
        let mut lines = vec![
            format!("{} · {}", model.name, model.provider),
            format!("{window} · up to {} out", grouped(model.max_output)),
            thinking.to_owned(),
        ];
        if let Some(deprecation) = &model.deprecation {
            lines.push(deprecation.describe(today()));
        }
        let rates = &model.prices.base;
        if rates.input == 0.0 && rates.output == 0.0 {
            lines.push("price unknown".to_owned());
        } else {
            lines.push(format!(
                "${} in, ${} out per million tokens",
                rates.input, rates.output
            ));
            lines.push(format!(
                "cache: ${} read, ${} written",
                rates.cache_read, rates.cache_write
            ));
            for tier in &model.prices.tiers {
                lines.push(format!(
                    "${} in, ${} out when the prompt has more than {} tokens",
                    tier.rates.input,
                    tier.rates.output,
                    grouped(tier.above)
                ));
            }
            lines.push(format!("as of {}", catalog.snapshot()));
        }
        Some(facts(lines))
    }

    fn prompt(&self, index: usize) -> Option<Preview> {
        let messages = self.runtime.transcript();
        let turn = turns(&messages).nth(index)?;
        let answers = turn
            .iter()
            .filter(|message| message.role == Role::Assistant);
        let mut text = String::new();
        for answer in answers.flat_map(|message| texts(message)) {
            if text.len() < MAX_TEXT_PREVIEW_BYTES {
                text.push_str(answer.trim());
                text.push('\n');
            }
        }
        let body = match beginning(&text) {
            "" => "no answer".to_owned(),
            text => text.to_owned(),
        };
        Some(Preview {
            facts: vec![tools_used(turn)],
            body: PreviewBody::Prose(body),
        })
    }

    fn skill(&self, name: &str) -> Option<Preview> {
        let skills = self.runtime.skills();
        let skill = skills.iter().find(|skill| skill.name == name)?;
        let text = match skill.load() {
            Ok((_, text)) => text,
            Err(problem) => problem.to_string(),
        };
        let source = skill.source.as_str();
        Some(Preview {
            facts: vec![format!("{source} · about {} tokens", skill.tokens())],
            body: PreviewBody::Prose(format!(
                "{}\n\n{}",
                skill.description,
                beginning(text.trim_start())
            )),
        })
    }

    fn theme(&self, name: &str) -> Preview {
        match themes::load(name, self.themes.as_deref()) {
            Ok(theme) => Preview {
                facts: Vec::new(),
                body: PreviewBody::Colours(Box::new(theme)),
            },
            Err(error) => Preview {
                facts: Vec::new(),
                body: PreviewBody::Prose(error.to_string()),
            },
        }
    }

    fn provider(&self, name: &str) -> Preview {
        let looked_up = || {
            let credentials = Credentials::open(None).map_err(|error| error.to_string())?;
            let found = credentials.status().map_err(|error| error.to_string())?;
            let own = found.iter().filter(|status| status.provider == name);
            let mut lines: Vec<String> = own.map(describe_credential).collect();
            if lines.is_empty() {
                lines.push("no key".to_owned());
            }
            let models = self.runtime.catalog().models(name).count();
            lines.push(format!("{models} models known"));
            lines.push(match credentials.login(name) {
                Ok(Some(_)) => "uses a login in the browser".to_owned(),
                _ => "uses a key".to_owned(),
            });
            Ok::<_, String>(lines)
        };
        facts(looked_up().unwrap_or_else(|error| vec![error]))
    }
}

fn facts(facts: Vec<String>) -> Preview {
    Preview {
        facts,
        body: PreviewBody::Nothing,
    }
}

fn session_preview(session: &Summary) -> Preview {
    let when = session.modified.to_string();
    let (day, time) = when.split_once('T').unwrap_or((&when, ""));
    let time = time.get(..5).unwrap_or(time);
    let ago = age(session.modified, Timestamp::now());
    let plural = |count: u64, noun: &str| match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    };
    let mut counts = format!(
        "{} · {}",
        plural(session.messages, "message"),
        plural(session.prompts, "prompt")
    );
    if session.cost_usd > 0.0 {
        counts.push_str(&format!(" · ${:.4}", session.cost_usd));
    }
    let mut lines = vec![
        format!("{day} {time} UTC · {ago}"),
        counts,
        format!("{} · {}", session.model, session.provider),
    ];
    if let Some(parent) = &session.parent {
        let id: String = parent.chars().take(8).collect();
        lines.push(format!("a fork of {id}"));
    }
    if session.damaged {
        lines.push("parts of the file are damaged".to_owned());
    }
    let last = last_prompts(&session.path, SESSION_PREVIEW_BYTES, LAST_PROMPTS).unwrap_or_default();
    let mut prompts = Vec::new();
    let before = session.prompts.saturating_sub(last.len() as u64);
    if before > 0 {
        prompts.push(format!("❯ {}", first_line(&session.title)));
    }
    if before > 1 {
        prompts.push("…".to_owned());
    }
    prompts.extend(last.iter().map(|text| format!("❯ {}", first_line(text))));
    Preview {
        facts: lines,
        body: PreviewBody::Prose(prompts.join("\n")),
    }
}

/// Returns how long ago something was.
pub(super) fn age(then: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(then.as_second()).max(0);
    let (count, unit) = match seconds {
        0..60 => return "just now".to_owned(),
        60..3_600 => (seconds / 60, "min"),
        3_600..86_400 => (seconds / 3_600, "h"),
        86_400..172_800 => return "yesterday".to_owned(),
        _ => (seconds / 86_400, "days"),
    };
    format!("{count} {unit} ago")
}

fn texts(message: &Message) -> impl Iterator<Item = &str> {
    message.content.iter().filter_map(|block| match block {
        ContentBlock::Text(text) => Some(text.as_str()),
        _ => None,
    })
}

/// Returns which tools were called in a part of the conversation, and how often.
fn tools_used(turn: &[Arc<Message>]) -> String {
    let mut used: Vec<(&str, usize)> = Vec::new();
    for block in turn.iter().flat_map(|message| &message.content) {
        let ContentBlock::ToolCall(call) = block else {
            continue;
        };
        match used.iter_mut().find(|(known, _)| *known == call.name) {
            Some((_, count)) => *count += 1,
            None => used.push((&call.name, 1)),
        }
    }
    let names = used.into_iter().map(|(name, count)| match count {
        1 => name.to_owned(),
        count => format!("{name} ×{count}"),
    });
    let names: Vec<String> = names.collect();
    match names.is_empty() {
        true => "no tools".to_owned(),
        false => names.join(" · "),
    }
}

fn beginning(text: &str) -> &str {
    let text = text.trim_end();
    &text[..text.floor_char_boundary(MAX_TEXT_PREVIEW_BYTES)]
}

/// Formats `200000` as `200,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}
