//! The question whether the servers of a project may be started.
//!
//! They are programs that the project's author chose, so their command lines are shown whole.

use super::view;
use crate::app::action::{Action, Handled};
use crate::app::{Context, Key, KeyCode, McpEffect, TerminalEffect};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ProjectServers {
    /// The file that describes them.
    pub(crate) path: String,
    /// Name, and what it runs or where it connects: one line each.
    pub(crate) servers: Vec<(String, Vec<String>)>,
    /// The first line on the screen.
    pub(crate) top: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectAnswer {
    /// Start them, now and whenever the file is the same.
    Start,
    /// Never, as long as the file is the same.
    Never,
    /// Not now; ask again.
    NotNow,
}

impl ProjectServers {
    pub(super) fn press(&mut self, context: &Context, key: &Key) -> Handled {
        let page = (context.rows / 2).max(1);
        match (key.control, key.code) {
            (true, KeyCode::Character('c')) => return Handled::Yes(vec![Action::Interrupt]),
            (true, KeyCode::Character('z')) => return Handled::effect(TerminalEffect::Suspend),
            (true, KeyCode::Character('l')) => return Handled::No,
            (true, _) => return Handled::DONE,
            (_, KeyCode::Up) => self.top = self.top.saturating_sub(1),
            (_, KeyCode::Down) => self.scroll_to(context, self.top.saturating_add(1)),
            (_, KeyCode::PageUp) => self.top = self.top.saturating_sub(page),
            (_, KeyCode::PageDown) => self.scroll_to(context, self.top.saturating_add(page)),
            (_, KeyCode::Escape) => return answer(ProjectAnswer::NotNow),
            _ if key.alt => {}
            (_, KeyCode::Character('y' | 'Y')) => return answer(ProjectAnswer::Start),
            (_, KeyCode::Character('n' | 'N')) => return answer(ProjectAnswer::Never),
            _ => {}
        }
        Handled::DONE
    }

    /// Scrolls down, but not past the last page.
    fn scroll_to(&mut self, context: &Context, top: usize) {
        self.top = top.min(view::surplus(self, context));
    }
}

fn answer(answer: ProjectAnswer) -> Handled {
    Handled::effect(McpEffect::AnswerProject(answer))
}
