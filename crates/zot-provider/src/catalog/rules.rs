//! Assumptions about models that no catalog lists, from their names.
//!
//! A name newer than every known model is treated like the newest known one: providers do not bring
//! replaced parameters back.

use zot_conversation::ReasoningEffort;

use super::facts::{Efforts, OpenAiWire, Thinking};

const LOW_TO_HIGH: Efforts = Efforts::of(&[
    ReasoningEffort::Low,
    ReasoningEffort::Medium,
    ReasoningEffort::High,
]);
const MINIMAL_TO_HIGH: Efforts = Efforts::of(&[
    ReasoningEffort::Minimal,
    ReasoningEffort::Low,
    ReasoningEffort::Medium,
    ReasoningEffort::High,
]);
const LOW_TO_XHIGH: Efforts = Efforts::of(&[
    ReasoningEffort::Low,
    ReasoningEffort::Medium,
    ReasoningEffort::High,
    ReasoningEffort::Xhigh,
]);
const LOW_TO_MAX: Efforts = Efforts::of(&[
    ReasoningEffort::Low,
    ReasoningEffort::Medium,
    ReasoningEffort::High,
    ReasoningEffort::Xhigh,
    ReasoningEffort::Max,
]);
const NONE_TO_HIGH: Efforts = Efforts::of(&[
    ReasoningEffort::None,
    ReasoningEffort::Low,
    ReasoningEffort::Medium,
    ReasoningEffort::High,
]);
const NONE_TO_XHIGH: Efforts = Efforts::of(&[
    ReasoningEffort::None,
    ReasoningEffort::Low,
    ReasoningEffort::Medium,
    ReasoningEffort::High,
    ReasoningEffort::Xhigh,
]);

/// The major and minor version in a name: `(5, 4)` for `gpt-5.4-mini-2026-03-17`.
type Version = (u32, u32);

/// Returns the wire a model needs, where its provider has two.
pub(super) fn wire(provider: &str, id: &str) -> Option<OpenAiWire> {
    (provider == "openai").then(|| openai_wire(id))
}

/// Returns the wire of one of OpenAI's models.
///
/// Other names, such as those of compatible servers, stay on chat completions.
fn openai_wire(id: &str) -> OpenAiWire {
    let name = bare_name(id);
    // Codex, pro, deep research and computer use models exist on responses only.
    let segments = || name.split('-');
    if segments().any(|segment| segment == "codex" || segment == "pro")
        || name.contains("deep-research")
        || name.contains("computer-use")
    {
        return OpenAiWire::Responses;
    }
    // On chat completions, 5.4 and 5.5 refuse tools together with an effort; 5.6 and later refuse
    // tools.
    let first_on_responses = match openai_family(name) {
        OpenAiFamily::Gpt(version) => version >= (5, 4),
        OpenAiFamily::O(generation) => generation >= 5,
        OpenAiFamily::NewGpt => true,
        OpenAiFamily::Other => false,
    };
    if first_on_responses {
        OpenAiWire::Responses
    } else {
        OpenAiWire::Chat
    }
}

/// Returns whether one of OpenAI's models refuses `temperature` and `top_p`: those that reason do.
///
/// Users report the refusal for o1, o3, gpt-5 and gpt-5.2: "Unsupported parameter: 'temperature' is not
/// supported with this model." (OpenHands/software-agent-sdk#1837, danny-avila/LibreChat#10737). The
/// `-chat` models of 5.x do not reason.
pub(crate) fn refuses_sampling(id: &str) -> bool {
    let name = bare_name(id);
    match openai_family(name) {
        OpenAiFamily::Gpt(version) => {
            version >= (5, 0) && !(name.contains("-chat") && version < (6, 0))
        }
        OpenAiFamily::O(_) | OpenAiFamily::NewGpt => true,
        OpenAiFamily::Other => false,
    }
}

/// Returns how thinking is requested of a model on the Anthropic wire.
///
/// Claude accepts `adaptive` since 4.6 and refuses `enabled` since 4.7. Servers that imitate the
/// wire with other models know the older form.
pub(super) fn thinking(id: &str) -> Thinking {
    match claude_version(bare_name(id)) {
        Some(Some(version)) if version < (4, 6) => Thinking::Budget,
        Some(_) => Thinking::Adaptive,
        None => Thinking::Budget,
    }
}

/// Returns whether a model can think at all: Claude can since 3.7.
pub(crate) fn can_think(id: &str) -> bool {
    !matches!(claude_version(bare_name(id)), Some(Some(version)) if version < (3, 7))
}

/// Returns whether a model refuses `temperature`, `top_p` and `top_k`, and omits the text of its
/// thinking unless it is requested: Claude since 4.7.
///
/// Source: Anthropic's migration guides for Opus 4.7 and Sonnet 5.
pub(crate) fn is_claude_since_4_7(id: &str) -> bool {
    claude_is_since(id, (4, 7))
}

/// Returns whether a model refuses thinking that is replayed behind a prefix other than its
/// original one: Claude Fable and Mythos since 5.1, the other families since 5.5.
///
/// Source: <https://platform.claude.com/docs/en/build-with-claude/preserved-thinking>.
pub(crate) fn binds_thinking(id: &str) -> bool {
    let is_early_family = id.contains("fable") || id.contains("mythos");
    claude_is_since(id, if is_early_family { (5, 1) } else { (5, 5) })
}

fn claude_is_since(id: &str, since: Version) -> bool {
    claude_version(bare_name(id)).is_some_and(|version| version.is_none_or(|it| it >= since))
}

/// Returns the reasoning efforts a model accepts.
pub(super) fn efforts(id: &str) -> Efforts {
    let name = bare_name(id);
    if let Some(version) = claude_version(name) {
        return match version {
            // `output_config.effort` goes with adaptive thinking.
            Some(version) if version < (4, 6) => Efforts::NONE,
            Some((4, 6)) => Efforts::of(&[
                ReasoningEffort::Low,
                ReasoningEffort::Medium,
                ReasoningEffort::High,
                ReasoningEffort::Max,
            ]),
            _ => LOW_TO_MAX,
        };
    }
    if name.starts_with("gpt-oss") {
        return LOW_TO_HIGH;
    }
    match openai_family(name) {
        OpenAiFamily::Gpt(version) => return gpt_efforts(name, version),
        OpenAiFamily::O(1) if name.contains("mini") || name.contains("preview") => {
            return Efforts::NONE;
        }
        OpenAiFamily::O(_) => return LOW_TO_HIGH,
        OpenAiFamily::NewGpt => return LOW_TO_MAX,
        OpenAiFamily::Other => {}
    }
    if let Some(rest) = name.strip_prefix("gemini-") {
        // Before version 3, models take a budget instead of a level.
        return match leading_version(rest) {
            Some(version) if version < (3, 0) => Efforts::NONE,
            Some(version) if version >= (3, 7) => LOW_TO_HIGH,
            _ if name.contains("pro") => LOW_TO_HIGH,
            _ => MINIMAL_TO_HIGH,
        };
    }
    if let Some(rest) = name.strip_prefix("grok-") {
        return match leading_version(rest) {
            Some((3, 0)) if name.contains("mini") => {
                Efforts::of(&[ReasoningEffort::Low, ReasoningEffort::High])
            }
            // grok-4.20 came before 4.3 and takes no effort.
            Some(version) if version < (4, 3) || version == (4, 20) => Efforts::NONE,
            _ => LOW_TO_XHIGH,
        };
    }
    // Otherwise the values that all servers with this parameter understand.
    LOW_TO_HIGH
}

fn gpt_efforts(name: &str, version: Version) -> Efforts {
    let is_pro = name.split('-').any(|segment| segment == "pro");
    let is_codex = name.split('-').any(|segment| segment == "codex");
    match version {
        _ if name.contains("-chat") && version < (6, 0) => Efforts::NONE,
        (major, _) if major < 5 => Efforts::NONE,
        (5, 0) if is_pro => Efforts::of(&[ReasoningEffort::High]),
        (5, 0) if is_codex => LOW_TO_HIGH,
        (5, 0) => MINIMAL_TO_HIGH,
        (5, 1) if name.contains("codex-max") => LOW_TO_XHIGH,
        (5, 1) if is_codex => LOW_TO_HIGH,
        (5, 1) => NONE_TO_HIGH,
        (5, 2..=5) if is_pro => Efforts::of(&[
            ReasoningEffort::Medium,
            ReasoningEffort::High,
            ReasoningEffort::Xhigh,
        ]),
        (5, 2..=5) if is_codex => LOW_TO_XHIGH,
        (5, 2..=5) => NONE_TO_XHIGH,
        // Not all of these know `none`, so it is not assumed.
        _ => LOW_TO_MAX,
    }
}

enum OpenAiFamily {
    Gpt(Version),
    /// o1, o3, o4-mini and similar.
    O(u32),
    /// One of OpenAI's names without a version, such as `chat-latest`.
    NewGpt,
    Other,
}

fn openai_family(name: &str) -> OpenAiFamily {
    if name.starts_with("gpt-oss") {
        return OpenAiFamily::Other;
    }
    let generation = name
        .strip_prefix("chatgpt-")
        .or_else(|| name.strip_prefix("gpt-"));
    if let Some(rest) = generation {
        return match leading_version(rest) {
            Some(version) => OpenAiFamily::Gpt(version),
            None => OpenAiFamily::NewGpt,
        };
    }
    if let Some(rest) = name.strip_prefix('o') {
        let digits = rest.split('-').next().unwrap_or(rest);
        if let Ok(generation) = digits.parse() {
            return OpenAiFamily::O(generation);
        }
    }
    if name == "chat-latest" || name.starts_with("daybreak-") || name.starts_with("codex-") {
        return OpenAiFamily::NewGpt;
    }
    OpenAiFamily::Other
}

/// Returns the version of a Claude model: `None` for other models, `Some(None)` for one without a
/// version.
///
/// Old names have it before the family (`claude-3-7-sonnet-20250219`), newer ones after it
/// (`claude-opus-4-1`, `claude-opus-4.1`), and a date is not a version (`claude-opus-4-20250514`).
fn claude_version(name: &str) -> Option<Option<Version>> {
    let at = name.find("claude")?;
    let rest = name.get(at + "claude".len()..)?;
    if rest.starts_with("-instant") {
        return Some(Some((1, 0)));
    }
    let mut parts = rest
        .split(['-', '.', '@', '_', ':'])
        .skip_while(|part| !is_version_part(part));
    let version = parts.next().and_then(|major| {
        let minor = parts.next().filter(|part| is_version_part(part));
        let minor = minor.and_then(|part| part.parse().ok());
        Some((major.parse().ok()?, minor.unwrap_or(0)))
    });
    Some(version)
}

fn is_version_part(part: &str) -> bool {
    matches!(part.len(), 1..=2) && part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the version a name begins with: (5, 4) for `5.4-mini`, (4, 0) for `4o`, none for
/// `latest`.
fn leading_version(text: &str) -> Option<Version> {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (major, rest) = text.split_at(digits(text));
    let major = major.parse().ok()?;
    let minor = rest
        .strip_prefix('.')
        .and_then(|rest| rest.get(..digits(rest)));
    Some((
        major,
        minor.and_then(|minor| minor.parse().ok()).unwrap_or(0),
    ))
}

/// Returns the name without its vendor: `openai/gpt-5` and `ft:gpt-5:me::1` are `gpt-5`.
fn bare_name(id: &str) -> &str {
    let id = id.rsplit('/').next().unwrap_or(id);
    match id.strip_prefix("ft:") {
        Some(tuned) => tuned.split(':').next().unwrap_or(tuned),
        None => id,
    }
}

#[cfg(test)]
mod tests;
