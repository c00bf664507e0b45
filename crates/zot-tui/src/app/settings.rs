//! `/settings`, `/study` and `/session fork`: what is offered, and what comes of it.

use zot_sdk::ApprovalScope;

use super::{App, Choices, Effect, PickerKind, Prompt};

impl App {
    /// Offers what can be switched, with how it is now.
    pub(super) fn offer_settings(&mut self) -> Vec<Effect> {
        let asks = self.info.approval != ApprovalScope::Nothing;
        let switches = [
            ("confirm", asks, "ask before tools run"),
            (
                "jail",
                self.info.is_jailed,
                "confine tools to the working directory",
            ),
            ("unfold", self.chat.expanded, "show long results in full"),
            (
                "keep_scrollback",
                self.keeps_scrollback,
                "leave the scrollback alone when the window's width changes (kept)",
            ),
        ];
        let switches = switches.map(|(name, is_on, description)| {
            let state = if is_on { "on" } else { "off" };
            (name.to_owned(), format!("{state:<3}  {description}"))
        });
        let lists = [
            ("model", format!("{}  choose another", self.info.model)),
            ("theme", "choose the colours (kept)".to_owned()),
        ];
        let lists = lists.map(|(name, description)| (name.to_owned(), description));
        let choices: Choices = switches.into_iter().chain(lists).collect();
        self.offer(PickerKind::Settings, choices)
    }

    /// Switches what was chosen; the list stays, to show it and for the next.
    pub(super) fn change_setting(&mut self, name: &str) -> Vec<Effect> {
        let effects = match name {
            "model" => return vec![Effect::ListModels],
            "theme" => return vec![Effect::ListThemes],
            // What comes of it is told, and then it is on or off.
            "confirm" if self.info.approval == ApprovalScope::Nothing => self.change_approval("on"),
            "confirm" => self.change_approval("off"),
            // What comes of it is told, and then it is on or off.
            "jail" if self.info.is_jailed => return vec![Effect::Unjail],
            "jail" => return vec![Effect::Jail],
            "unfold" => {
                self.toggle_folding();
                Vec::new()
            }
            "keep_scrollback" => {
                self.keeps_scrollback = !self.keeps_scrollback;
                vec![Effect::KeepSetting {
                    name: "keep_scrollback",
                    value: self.keeps_scrollback.to_string(),
                }]
            }
            _ => Vec::new(),
        };
        self.show_settings(name);
        effects
    }

    /// Shows the list again, with `name` selected.
    pub(super) fn show_settings(&mut self, name: &str) -> Vec<Effect> {
        self.offer_settings();
        if let Some(picker) = &mut self.picker {
            picker.select(name);
        }
        Vec::new()
    }

    /// Lets the model read everything, so that later questions find it in the conversation.
    pub(super) fn study(&mut self, path: &str) -> Vec<Effect> {
        let what = match path {
            "" => "the working directory".to_owned(),
            path => format!("{path:?}"),
        };
        let text = format!(
            "Study {what} so that you know it before we work on it. If it is a directory, list its \
             files first, and leave out what version control ignores, dependencies, build output and \
             binary files. Read every other file in full with the read tool. Then say in a few \
             sentences what it is and how it is put together, and wait for what I ask next."
        );
        self.submit(Prompt::made(text))
    }

    /// Where a copy can end. With one prompt there is nothing to choose.
    pub(super) fn offer_fork_points(&mut self, prompts: Vec<String>) -> Vec<Effect> {
        if prompts.len() < 2 {
            return vec![Effect::Fork { before: None }];
        }
        let whole = "all  the whole conversation".to_owned();
        let points = std::iter::once(whole).chain(prompts);
        self.offer(PickerKind::ForkPoints, Choices::named(points))
    }

    /// Goes on with a session that was just made of a file.
    pub(super) fn take_imported(&mut self, session: String) -> Vec<Effect> {
        if self.work.is_some() {
            self.note(
                "the session was imported; zot is working, so /sessions goes on with it later"
                    .to_owned(),
                false,
            );
            return Vec::new();
        }
        vec![Effect::Resume {
            session: Some(session),
        }]
    }
}
