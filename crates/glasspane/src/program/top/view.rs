//! The view of the table, and how keys change it. Pure.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::cmp::Ordering;

use super::attention::attention;
use super::keys::Key;
use crate::{AgentState, Status, arguments};

/// How long a filter may be.
const MAX_FILTER: usize = 64;

const PAGE: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Sort {
    /// Agents that need attention first.
    #[default]
    Attention,
    /// In order of arrival.
    Arrival,
    Label,
    Tokens,
    Cost,
    /// The most recently changed first.
    Changed,
}

impl Sort {
    const ALL: [Self; 6] = [
        Self::Attention,
        Self::Arrival,
        Self::Label,
        Self::Tokens,
        Self::Cost,
        Self::Changed,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Attention => "attention",
            Self::Arrival => "arrival",
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
    /// Whether typed characters go to the filter.
    pub(super) typing: bool,
    pub(super) hide_done: bool,
    /// How many agents are above the first that is shown.
    pub(super) scroll: usize,
    /// A message below the table.
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

    /// Returns the agents to show, in order.
    pub(super) fn select<'a>(&self, agents: &'a [AgentState], now_ms: u64) -> Vec<&'a AgentState> {
        let filter = self.filter.to_lowercase();
        let words: Vec<_> = filter.split_whitespace().collect();
        let mut chosen: Vec<_> = agents
            .iter()
            .filter(|agent| !(self.hide_done && agent.status == Status::Done))
            .filter(|agent| words.is_empty() || matches(agent, &words))
            .collect();
        chosen.sort_by(|left, right| self.order(left, right, now_ms));
        if self.reversed {
            chosen.reverse();
        }
        chosen
    }

    /// Compares agents; equal ones stay in order of arrival.
    fn order(&self, left: &AgentState, right: &AgentState, now_ms: u64) -> Ordering {
        match self.sort {
            Sort::Attention => attention(left, now_ms).cmp(&attention(right, now_ms)),
            Sort::Arrival => Ordering::Equal,
            Sort::Label => left.label.cmp(&right.label),
            Sort::Tokens => tokens(right).cmp(&tokens(left)),
            Sort::Cost => right.usage.cost_usd.total_cmp(&left.usage.cost_usd),
            Sort::Changed => right.since_ms.cmp(&left.since_ms),
        }
    }
}

/// Whether every word occurs in what is known about the agent, its messages and its tools.
fn matches(agent: &AgentState, words: &[&str]) -> bool {
    let mut known: Vec<Cow<'_, str>> = [
        agent.label.as_str(),
        &agent.id,
        &agent.source,
        agent.status.words(),
        &agent.prompt,
        &agent.last_text,
        &agent.tool_text,
    ]
    .map(Cow::from)
    .into();
    let optional = [&agent.model, &agent.cwd, &agent.error, &agent.detached];
    known.extend(optional.into_iter().flatten().map(Cow::from));
    for tool in &agent.running {
        known.push(Cow::from(&tool.name));
        // The summary may mention what was cut from the arguments.
        known.push(Cow::from(&tool.summary));
        known.push(arguments::words(&tool.arguments).into());
    }
    for approval in &agent.approvals {
        known.push(Cow::from(&approval.name));
        known.push(Cow::from(&approval.summary));
        known.push(arguments::words(&approval.arguments).into());
        known.extend(approval.message.as_ref().map(Cow::from));
    }
    let known = known.join("\n").to_lowercase();
    words.iter().all(|word| known.contains(word))
}

/// All tokens the model read or wrote.
pub(super) fn tokens(agent: &AgentState) -> u64 {
    agent.usage.tokens()
}
