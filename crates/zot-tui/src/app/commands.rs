//! What begins with a slash.

use zot_sdk::ApprovalScope;

use super::{App, Choices, Effect, Item, LogAction, SESSION};

/// The commands there are, and what they do.
const COMMANDS: [(&str, &str); 29] = [
    ("/help", "what can be done here"),
    ("/model", "choose another model"),
    (
        "/study",
        "let zot read everything here, or a file or directory",
    ),
    ("/compact", "summarise the conversation to make room"),
    ("/clear", "begin a new conversation"),
    ("/cost", "what was spent, turn by turn"),
    ("/context", "how much of the context is used, and by what"),
    (
        "/btw",
        "ask something on the side, outside the conversation",
    ),
    ("/jump", "show an earlier part of the conversation again"),
    ("/sessions", "go on with an earlier conversation"),
    ("/session", "this conversation: export, fork, tree, import"),
    (
        "/export",
        "write this conversation to a file: NAME.html, .md",
    ),
    ("/undo", "bring back files that write and edit changed"),
    ("/login", "give zot a key"),
    ("/logout", "take it away again"),
    ("/skills", "what zot can load; ask for one of them"),
    ("/tools", "what zot can call"),
    (
        "/confirm",
        "whether zot asks before tools run: on, off, or for some",
    ),
    ("/yolo", "ask no more before tools run"),
    ("/settings", "what can be switched while zot runs"),
    ("/jail", "confine zot's tools to the working directory"),
    ("/unjail", "let them out again"),
    ("/copy", "put the last answer into the clipboard"),
    ("/theme", "light, dark, or one of your own"),
    ("/reload-ext", "start the extensions anew"),
    ("/fold", "fold or unfold long results (ctrl+o)"),
    (
        "/transcript",
        "read all of this conversation, with a search (pgup)",
    ),
    ("/editor", "write in $EDITOR (ctrl+g)"),
    ("/exit", "leave"),
];

const HELP: &str = "\
enter send, or queue while zot works · ctrl+s steer at once · esc stop · ctrl+c twice leave
alt+up edit the last queued · alt+enter or \\ enter new line · up/down history · ctrl+r search it
ctrl+_ undo · alt+_ redo · ctrl+g $EDITOR · ctrl+o unfold · pgup read and search back · ctrl+l redraw
@ a file · / a command · !cmd run it, and tell zot with the next prompt (ctrl+x: do not)";

/// Who changes more than this in a name means something else.
const MAX_TYPOS: usize = 2;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

impl App {
    pub(super) fn command_choices(&self) -> Choices {
        let own = COMMANDS.iter();
        let own = own.map(|(name, description)| ((*name).to_owned(), *description));
        let others = self.extension_commands.iter();
        let others = others.map(|(name, description)| (format!("/{name}"), description.as_str()));
        own.chain(others).collect()
    }

    /// Runs `text` if it is a command that is known.
    pub(super) fn run_command(&mut self, text: &str) -> Option<Vec<Effect>> {
        let text = text.trim();
        let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        let arguments = arguments.trim();
        if !name.starts_with('/') {
            return None;
        }
        Some(match name {
            "/help" => {
                let mut help = HELP.to_owned();
                for choice in self.command_choices().iter() {
                    help.push_str(&format!("\n{:<14} {}", choice.name, choice.description));
                }
                self.show(help)
            }
            "/exit" | "/quit" => vec![Effect::Quit],
            "/model" if arguments.is_empty() => vec![Effect::ListModels],
            "/model" => vec![Effect::SetModel(arguments.to_owned())],
            "/compact" => self.when_idle(Effect::Compact),
            "/clear" => {
                let effects = self.when_idle(Effect::Clear);
                if !effects.is_empty() {
                    self.chat.forget();
                    self.shell.forget();
                    self.info.context_used = 0;
                    self.add(Item::Note("a new conversation".to_owned()));
                }
                effects
            }
            "/cost" => self.show(self.cost()),
            "/context" => {
                self.show(self.context());
                vec![Effect::ShowContext]
            }
            "/study" => self.study(arguments),
            "/yolo" if self.info.approval == ApprovalScope::Nothing => {
                self.show("tools run without asking already")
            }
            "/yolo" => self.change_approval("off"),
            "/settings" => self.offer_settings(),
            "/btw" => self.ask_aside(arguments),
            "/jump" => vec![Effect::ListPrompts],
            "/sessions" => self.when_idle(Effect::ListSessions),
            "/session" => self.session_command(arguments),
            "/export" => vec![Effect::Export(arguments.to_owned())],
            "/undo" if !arguments.split_whitespace().all(is_undo_word) => {
                self.say("/undo takes a number of prompts: /undo 2");
                Vec::new()
            }
            "/undo" => {
                let mut words = vec!["sessions", "undo", "--session", SESSION];
                words.extend(arguments.split_whitespace());
                self.when_idle(zot(&words))
            }
            // The terminal itself shows what is typed, a key too.
            "/login" if self.is_plain => {
                self.say("this terminal would show the key: leave, and use `zot login PROVIDER`");
                Vec::new()
            }
            "/login" if arguments.is_empty() => {
                self.when_idle(Effect::ListProviders(LogAction::In))
            }
            "/logout" if arguments.is_empty() => {
                self.when_idle(Effect::ListProviders(LogAction::Out))
            }
            "/login" | "/logout" => {
                let mut words = vec![name.trim_start_matches('/')];
                words.extend(arguments.split_whitespace());
                self.log(&words)
            }
            "/skills" => vec![Effect::ListSkills],
            "/tools" => vec![Effect::ShowTools],
            "/confirm" => self.change_approval(arguments),
            "/jail" => vec![Effect::Jail],
            "/unjail" => vec![Effect::Unjail],
            "/copy" if self.chat.last_answer.is_empty() => self.show("there is no answer yet"),
            "/copy" => vec![Effect::Copy(self.chat.last_answer.clone())],
            "/theme" if arguments.is_empty() => vec![Effect::ListThemes],
            "/theme" => vec![Effect::LoadTheme(arguments.to_owned())],
            "/reload-ext" => self.when_idle(Effect::ReloadExtensions),
            "/fold" => {
                self.toggle_folding();
                Vec::new()
            }
            "/transcript" => {
                self.open_pager(None);
                Vec::new()
            }
            "/editor" => vec![Effect::OpenEditor(String::new())],
            _ => {
                let name = name.trim_start_matches('/');
                let known = self
                    .extension_commands
                    .iter()
                    .any(|(known, _)| known == name);
                // While extensions are starting, who asks for one of theirs waits for them.
                let may_come = !self.knows_commands && is_name(name);
                if !known && !may_come {
                    // A path, or text that happens to begin so.
                    return None;
                }
                vec![Effect::Invoke {
                    name: name.to_owned(),
                    arguments: arguments.to_owned(),
                }]
            }
        })
    }

    /// What to say of a command that there is not. A model could do nothing with it.
    pub(super) fn unknown_command(&self, text: &str) -> Option<String> {
        let name = text.split_whitespace().next()?;
        // A path, or text that begins with a blank to be sent as it is.
        let is_command =
            text.strip_prefix(name).is_some() && name.strip_prefix('/').is_some_and(is_name);
        if !is_command {
            return None;
        }
        let choices = self.command_choices();
        let wanted = name.to_lowercase();
        let nearest = choices
            .iter()
            .map(|choice| (changes_between(&wanted, choice.name), choice.name))
            .min()
            .filter(|(changes, _)| *changes <= MAX_TYPOS);
        let advice = match nearest {
            Some((_, nearest)) => format!("did you mean {nearest}?"),
            None => "/help lists them.".to_owned(),
        };
        Some(format!(
            "there is no command {name}: {advice} A blank before it sends it as it is"
        ))
    }

    pub(super) fn show(&mut self, text: impl Into<String>) -> Vec<Effect> {
        self.note(text.into(), false);
        Vec::new()
    }

    pub(super) fn when_idle(&mut self, effect: Effect) -> Vec<Effect> {
        if self.work.is_some() {
            self.say("zot is working: press esc first");
            return Vec::new();
        }
        if effect == Effect::Compact {
            self.begin_work().doing = "compacting";
        }
        vec![effect]
    }

    /// Runs `zot login` or `zot logout`.
    pub(super) fn log(&mut self, words: &[&str]) -> Vec<Effect> {
        self.when_idle(Effect::LogIn(owned(words)))
    }

    fn session_command(&mut self, arguments: &str) -> Vec<Effect> {
        let parts = arguments.split_once(char::is_whitespace);
        let (what, rest) = parts.unwrap_or((arguments, ""));
        let rest = rest.trim();
        match what {
            "export" => vec![Effect::Export(rest.to_owned())],
            "tree" => vec![zot(&["sessions", "tree"])],
            "import" if !rest.is_empty() => vec![Effect::Import(rest.to_owned())],
            "fork" if rest.is_empty() => self.when_idle(Effect::ListForkPoints),
            "fork" => match rest.parse::<usize>().ok().and_then(|at| at.checked_sub(1)) {
                Some(before) => self.when_idle(Effect::Fork {
                    before: Some(before),
                }),
                None => self.show("/session fork takes the number of a prompt: /session fork 2"),
            },
            "" => vec![zot(&["sessions", "show", "--summary", SESSION])],
            _ => self.show("/session export [FILE] · fork [N] · tree · import FILE"),
        }
    }

    fn cost(&self) -> String {
        let (turns, asides) = (&self.chat.turns, &self.chat.asides);
        if turns.is_empty() && asides.is_empty() {
            return "nothing was spent yet".to_owned();
        }
        let most = turns.iter().map(|turn| turn.2).fold(0.0, f64::max);
        let last = turns.iter().rev().take(60).rev();
        let chart: String = last
            .map(|turn| {
                let share = if most > 0.0 { turn.2 / most } else { 0.0 };
                BARS[((share * 7.0).round() as usize).min(7)]
            })
            .collect();
        let read: u64 = turns.iter().map(|turn| turn.0).sum();
        let written: u64 = turns.iter().map(|turn| turn.1).sum();
        let count = match turns.len() {
            1 => "1 turn".to_owned(),
            count => format!("{count} turns"),
        };
        let mut cost = format!(
            "${:.4} for {count} · {read} tokens read, {written} written\n{chart}",
            self.info.cost_usd,
        );
        if !asides.is_empty() {
            let spent: f64 = asides.iter().sum();
            let count = asides.len();
            cost.push_str(&format!("\n${spent:.4} of it on the side (/btw × {count})"));
        }
        cost
    }

    fn context(&self) -> String {
        let (used, window) = (self.info.context_used, self.info.context_window);
        match window {
            _ if used == 0 && !self.chat.last_answer.is_empty() => {
                "how much is used is known after the next answer".to_owned()
            }
            0 => format!("{used} tokens; the model's limit is not known"),
            window => format!(
                "{used} of {window} tokens ({} %)",
                used.saturating_mul(100) / window
            ),
        }
    }
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn zot(words: &[&str]) -> Effect {
    Effect::Zot(owned(words))
}

/// A number of prompts, or that what was changed since is undone too.
fn is_undo_word(word: &str) -> bool {
    word == "--force" || word.parse::<u32>().is_ok_and(|count| count > 0)
}

/// How many letters have to be put in, left out or exchanged to make one of the other.
fn changes_between(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.chars().count()).collect();
    for (above, letter) in one.chars().enumerate() {
        let mut diagonal = above;
        row[0] = above + 1;
        for (left, wanted) in other.chars().enumerate() {
            let replaced = diagonal + usize::from(letter != wanted);
            diagonal = row[left + 1];
            row[left + 1] = replaced.min(diagonal + 1).min(row[left] + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

/// Whether this can be the name of a command, and is no path.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !name.is_empty() && name.chars().all(fits)
}
