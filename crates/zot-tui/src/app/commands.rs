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

/// More changes than this in a name mean another command.
const MAX_TYPOS: usize = 2;

/// Columns of names and arguments in `/help`: narrow screens still show the help beside them.
const NAME_COLUMNS: usize = 16;

/// The commands of extensions; those of zot are in the table.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// Name without the slash, description.
    extensions: Vec<(String, String)>,
    /// The extensions have started, so these are all.
    is_complete: bool,
}

impl Commands {
    pub(super) fn known(extensions: Vec<(String, String)>) -> Self {
        Self {
            extensions,
            is_complete: true,
        }
    }

    /// All commands, for completion.
    pub(super) fn choices(&self) -> Choices {
        let own = COMMANDS.iter();
        let own = own.map(|command| (command.name.to_owned(), command.help));
        let others = self.extensions.iter();
        let others = others.map(|(name, description)| (format!("/{name}"), description.as_str()));
        own.chain(others).collect()
    }

    /// One line for each command.
    fn help(&self) -> String {
        let own = COMMANDS.iter().map(|command| {
            let usage = format!("{} {}", command.name, command.arguments);
            (usage.trim_end().to_owned(), command.help)
        });
        let others = self.extensions.iter();
        let others = others.map(|(name, description)| (format!("/{name}"), description.as_str()));
        own.chain(others)
            .map(|(usage, help)| format!("\n{usage:<NAME_COLUMNS$} {help}"))
            .collect()
    }

    /// Whether `name` is a command of an extension, or may become one while extensions start.
    fn may_invoke(&self, name: &str) -> bool {
        self.extensions.iter().any(|(known, _)| known == name)
            || (!self.is_complete && is_name(name))
    }

    /// What to say about a command that does not exist: a model could do nothing with it.
    pub(super) fn unknown(&self, text: &str) -> Option<String> {
        let name = text.split_whitespace().next()?;
        // A path is sent, and so is text with a blank before it.
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
        let advice = match nearest {
            Some((_, nearest)) => format!("did you mean {nearest}?"),
            None => "/help lists them.".to_owned(),
        };
        Some(format!(
            "unknown command {name}: {advice} A blank before it sends it as text"
        ))
    }
}

/// Runs `text` if it is a known command.
pub(super) fn run(app: &mut App, text: &str) -> Option<Vec<Effect>> {
    let text = text.trim();
    let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let arguments = arguments.trim();
    let own = COMMANDS
        .iter()
        .find(|command| command.name == name || command.alias == Some(name));
    if let Some(command) = own {
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

/// Whether this can be the name of a command rather than a path.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(fits)
}
