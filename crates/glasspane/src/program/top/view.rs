//! What of the table is shown, and how keys change that. Pure.

#[cfg(test)]
mod tests;

use std::cmp::Ordering;

use super::keys::Key;
use crate::{AgentState, Status};

/// How long a filter may be.
const MAX_FILTER: usize = 64;

const PAGE: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Sort {
    /// The order in which agents came.
    #[default]
    Arrival,
    /// Who needs somebody first.
    Urgency,
    Label,
    Tokens,
    Cost,
    /// Who changed last.
    Changed,
}

impl Sort {
    const ALL: [Self; 6] = [
        Self::Arrival,
        Self::Urgency,
        Self::Label,
        Self::Tokens,
        Self::Cost,
        Self::Changed,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::Urgency => "urgency",
            Self::Label => "label",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
            Self::Changed => "changed",
        }
    }

    fn next(self) -> Self {
        let index = Self::ALL.iter().position(|sort| *sort == self);
        Self::ALL[index.map_or(0, |index| (index + 1) % Self::ALL.len())]
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum After {
    Stay,
    Quit,
}

#[derive(Debug, Clone, Default)]
pub(super) struct View {
    pub(super) sort: Sort,
    pub(super) reversed: bool,
    pub(super) filter: String,
    /// Whether what is typed goes to the filter.
    pub(super) typing: bool,
    pub(super) hide_done: bool,
    /// How many agents are above the first that is shown.
    pub(super) scroll: usize,
    /// Something to say below the table.
    pub(super) note: Option<String>,
}

impl View {
    pub(super) fn press(&mut self, key: Key) -> After {
        if key == Key::Interrupt {
            return After::Quit;
        }
        if self.typing {
            self.type_filter(key);
            return After::Stay;
        }
        match key {
            Key::Character('q') => return After::Quit,
            Key::Character('s') => self.sort = self.sort.next(),
            Key::Character('r') => self.reversed = !self.reversed,
            Key::Character('d') => self.hide_done = !self.hide_done,
            Key::Character('/') => self.typing = true,
            Key::Escape => {
                self.filter.clear();
                self.note = None;
            }
            Key::Up | Key::Character('k') => self.scroll = self.scroll.saturating_sub(1),
            Key::Down | Key::Character('j') => self.scroll += 1,
            Key::PageUp => self.scroll = self.scroll.saturating_sub(PAGE),
            Key::PageDown => self.scroll += PAGE,
            Key::Home => self.scroll = 0,
            Key::End => self.scroll = usize::MAX / 2,
            _ => {}
        }
        After::Stay
    }

    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Enter => self.typing = false,
            Key::Escape => {
                self.typing = false;
                self.filter.clear();
            }
            Key::Backspace => {
                self.filter.pop();
            }
            Key::Character(character) if self.filter.len() < MAX_FILTER => {
                self.filter.push(character);
                self.scroll = 0;
            }
            _ => {}
        }
    }

    /// The agents that are shown, in order.
    pub(super) fn select<'a>(&self, agents: &'a [AgentState]) -> Vec<&'a AgentState> {
        let wanted = self.filter.to_lowercase();
        let mut chosen: Vec<_> = agents
            .iter()
            .filter(|agent| !(self.hide_done && agent.status == Status::Done))
            .filter(|agent| wanted.is_empty() || matches(agent, &wanted))
            .collect();
        chosen.sort_by(|left, right| self.order(left, right));
        if self.reversed {
            chosen.reverse();
        }
        chosen
    }

    /// Equal ones stay in the order they came.
    fn order(&self, left: &AgentState, right: &AgentState) -> Ordering {
        match self.sort {
            Sort::Arrival => Ordering::Equal,
            Sort::Urgency => urgency(left.status).cmp(&urgency(right.status)),
            Sort::Label => left.label.cmp(&right.label),
            Sort::Tokens => tokens(right).cmp(&tokens(left)),
            Sort::Cost => right.usage.cost_usd.total_cmp(&left.usage.cost_usd),
            Sort::Changed => right.since_ms.cmp(&left.since_ms),
        }
    }
}

fn matches(agent: &AgentState, wanted: &str) -> bool {
    [
        agent.label.as_str(),
        &agent.source,
        agent.status.words(),
        agent.tool.as_deref().unwrap_or(""),
        agent.model.as_deref().unwrap_or(""),
    ]
    .iter()
    .any(|text| text.to_lowercase().contains(wanted))
}

fn urgency(status: Status) -> u8 {
    match status {
        Status::WaitingForApproval => 0,
        Status::Failed => 1,
        Status::NotUnderstood => 2,
        Status::Interrupted => 3,
        Status::Retrying => 4,
        Status::RunningTool => 5,
        Status::Writing => 6,
        Status::Thinking => 7,
        Status::Starting => 8,
        Status::Idle => 9,
        Status::Done => 10,
    }
}

/// All that the model looked at or wrote.
pub(super) fn tokens(agent: &AgentState) -> u64 {
    agent.usage.tokens()
}
