//! `sys`: the system prompt, made from a template.

#[cfg(test)]
mod tests;

use std::sync::{Mutex, MutexGuard, PoisonError};

use zot_conversation::BoxFuture;
use zot_wire::zino::Response as _;
use zot_wire::zino::system_prompt::{Request, Response};

use crate::config::Config;
use crate::definitions::{load_executors, load_skills};
use crate::kind::ServiceKind;
use crate::logging::Log;
use crate::service::{Responses, Service};

pub struct SystemPromptService {
    config: Config,
    log: Log,
    state: Mutex<State>,
}

/// The prompt, and the part of it that callers can change.
struct State {
    soft_memory: String,
    prompt: String,
}

impl SystemPromptService {
    /// Fails when the template cannot be read: there would be nothing to serve.
    pub fn new(config: Config, log: Log) -> Result<Self, String> {
        let soft_memory = config.sys.soft_memory.clone();
        let prompt = render(&config, &soft_memory, log)?;
        Ok(Self {
            config,
            log,
            state: Mutex::new(State {
                soft_memory,
                prompt,
            }),
        })
    }

    fn respond(&self, request: &Request) -> Response {
        let changed = match request {
            Request::Get => Ok(()),
            Request::Reload => self.reload(),
            Request::SetSoftMemory { content } => self.set_soft_memory(content),
        };
        match changed {
            Ok(()) => Response::SystemPrompt {
                content: self.lock().prompt.clone(),
            },
            Err(error) => Response::error(error),
        }
    }

    fn set_soft_memory(&self, content: &str) -> Result<(), String> {
        let mut state = self.lock();
        state.prompt = render(&self.config, content, self.log)?;
        content.clone_into(&mut state.soft_memory);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Service for SystemPromptService {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::SystemPrompt
    }

    fn handle(&self, request: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move { responses.finish(self.respond(&request)).await })
    }

    /// Reloads template, tools and skills. Keeps the soft memory that was set, as the original does.
    fn reload(&self) -> Result<(), String> {
        let mut state = self.lock();
        state.prompt = render(&self.config, &state.soft_memory, self.log)?;
        Ok(())
    }
}

/// The longest template.
///
/// Limit: the template is refused.
pub(crate) const MAX_PROMPT_TEMPLATE_BYTES: u64 = 4 << 20;

fn render(config: &Config, soft_memory: &str, log: Log) -> Result<String, String> {
    let path = &config.sys.template;
    let template = zot_files::read_existing_text(path, MAX_PROMPT_TEMPLATE_BYTES)
        .map_err(|error| format!("cannot read the template {}: {error}", path.display()))?;
    let tools: Vec<String> = load_executors(config.tools_dir(), log)
        .iter()
        .map(|executor| format!("  - {:?}: {} executor", executor.function(), executor.name))
        .collect();
    let skills: Vec<String> = load_skills(config.skills_dir(), log)
        .iter()
        .map(|(name, skill)| {
            let executor = skill.meta.executor.as_deref().unwrap_or("unknown");
            let analysis = skill.meta.static_analysis.as_deref().unwrap_or("none");
            format!("  - {name:?}: {executor} executor, static analysis: {analysis}")
        })
        .collect();
    let values = [
        ("%%PERSONALITY%%", config.sys.personality.as_str()),
        ("%%TOOL_LIST%%", &lines(&tools)),
        ("%%SKILL_LINES%%", &lines(&skills)),
        ("%%MAX_ITERATIONS%%", &config.agent.max_iterations),
        ("%%SOFT_MEMORIES%%", soft_memory),
    ];
    Ok(fill(&template, &values))
}

fn lines(lines: &[String]) -> String {
    match lines {
        [] => "  (none loaded)".to_owned(),
        lines => lines.join("\n"),
    }
}

/// Replaces placeholders in one pass: a value that looks like a placeholder is not replaced.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(position) = rest.find("%%") {
        let (before, from) = rest.split_at(position);
        filled.push_str(before);
        match values.iter().find(|(name, _)| from.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &from[name.len()..];
            }
            None => {
                filled.push('%');
                rest = &from[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}
