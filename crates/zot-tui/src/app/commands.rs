//! The commands that begin with a slash.

mod login;
mod sessions;
mod settings;
mod table;

use super::{App, Choices, Effect, ExtensionEffect};

pub(super) use login::{log_in, log_out};
pub(super) use sessions::{offer_fork_points, open_imported};
pub(super) use settings::{change_setting, show_settings};
use table::COMMANDS;

/// A command of the table.
pub(super) struct Command {
    pub(super) name: &'static str,
    /// A second name that is not listed.
    pub(super) alias: Option<&'static str>,
    /// The arguments as `/help` shows them.
    pub(super) arguments: &'static str,
    pub(super) help: &'static str,
    /// Runs the command with its arguments.
    pub(super) action: fn(&mut App, &str) -> Vec<Effect>,
}

/// A command with more typos than this is not suggested.
const MAX_TYPOS: usize = 2;

/// Width of names and arguments in `/help`; narrow screens still fit the help next to them.
const NAME_COLUMNS: usize = 16;

/// The commands of extensions; those of zot are in the table.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Name without the slash, description.
    extensions: Vec<(String, String)>,
    /// All extensions have started, so the list is final.
    is_complete: bool,
}

impl Commands {
    pub(super) fn complete(extensions: Vec<(String, String)>) -> Self {
        Self {
            extensions,
            is_complete: true,
        }
    }

    /// Returns all commands, for completion.
    pub(super) fn choices(&self) -> Choices {
        let built_in = COMMANDS.iter();
        let built_in = built_in.map(|command| (command.name.to_owned(), command.help));
        let others = self.extensions.iter();
        let others = others.map(|(name, description)| (format!("/{name}"), description.as_str()));
        built_in.chain(others).collect()
    }

    /// Returns one line for each command.
    fn help(&self) -> String {
        let built_in = COMMANDS.iter().map(|command| {
            let usage = format!("{} {}", command.name, command.arguments);
            (usage.trim_end().to_owned(), command.help)
        });
        let others = self.extensions.iter();
        let others = others.map(|(name, description)| (format!("/{name}"), description.as_str()));
        built_in
            .chain(others)
            .map(|(usage, help)| format!("\n{usage:<NAME_COLUMNS$} {help}"))
            .collect()
    }

    /// Returns whether `name` is a command of an extension, or may become one while they start.
    fn may_invoke(&self, name: &str) -> bool {
        self.extensions.iter().any(|(known, _)| known == name)
            || (!self.is_complete && is_name(name))
    }

    /// Returns the error for an unknown command, which is not sent: a model could not run it either.
    pub(super) fn unknown(&self, text: &str) -> Option<String> {
        let name = text.split_whitespace().next()?;
        // Paths, and text after a leading space, are sent as they are.
        let is_command =
            text.strip_prefix(name).is_some() && name.strip_prefix('/').is_some_and(is_name);
        if !is_command {
            return None;
        }
        let choices = self.choices();
        let wanted = name.to_lowercase();
        let nearest = choices
            .iter()
            .map(|choice| (strsim::levenshtein(&wanted, choice.name), choice.name))
            .min()
            .filter(|(changes, _)| *changes <= MAX_TYPOS);
        let hint = match nearest {
            Some((_, nearest)) => format!("did you mean {nearest}?"),
            None => "/help lists all commands.".to_owned(),
        };
        Some(format!(
            "unknown command {name}: {hint} Put a space before it to send it as text"
        ))
    }
}

/// Runs `text` if it is a known command.
pub(super) fn run(app: &mut App, text: &str) -> Option<Vec<Effect>> {
    let text = text.trim();
    let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let arguments = arguments.trim();
    let built_in = COMMANDS
        .iter()
        .find(|command| command.name == name || command.alias == Some(name));
    if let Some(command) = built_in {
        return Some((command.action)(app, arguments));
    }
    if !name.starts_with('/') {
        return None;
    }
    let name = name.trim_start_matches('/');
    // Anything else is a path, or text that happens to begin with a slash.
    app.commands.may_invoke(name).then(|| {
        vec![Effect::Extension(ExtensionEffect::Invoke {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })]
    })
}

/// Returns whether this can be the name of a command rather than a path.
fn is_name(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(is_allowed)
}
