//! A list of choices, narrowed by a query.

#[cfg(test)]
mod tests;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::choices::{Choice, Choices};
use super::preview::PreviewState;

/// Nobody reads more matches than this.
const MAX_MATCHES: usize = 200;

/// Among more names, a query's first alignment is scored instead of its best: several times faster.
const GREEDY_THRESHOLD: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickerKind {
    /// Completes `/`.
    Commands,
    /// Completes `@`.
    Files,
    Models,
    /// The prompts of this conversation.
    Prompts,
    /// Prompts of this and other conversations, newest first.
    History,
    /// Where a copy of this conversation ends.
    ForkPoints,
    Settings,
    /// Earlier sessions of the same directory.
    Sessions,
    Skills,
    Themes,
    /// MCP servers.
    Servers,
    /// What can be done with an MCP server.
    ServerActions,
    /// Providers to log in to.
    LogIn,
    /// Providers with a stored credential.
    LogOut,
}

impl PickerKind {
    /// Returns whether typed characters narrow the list instead of going to the editor.
    pub(crate) fn takes_keys(self) -> bool {
        !matches!(self, Self::Commands | Self::Files)
    }

    /// Returns whether names are unique, so that tab can complete them.
    pub(crate) fn completes(self) -> bool {
        !matches!(
            self,
            Self::Prompts | Self::ForkPoints | Self::Sessions | Self::History
        )
    }
}

pub(crate) struct ChoiceList {
    pub(crate) kind: PickerKind,
    pub(crate) query: String,
    pub(crate) selected: usize,
    choices: Choices,
    /// The matches, best first.
    matches: Vec<usize>,
    /// For each match, the indices of the clusters in its name that match the query.
    positions: Vec<Vec<u32>>,
    /// All matches in the order of the choices, among which a longer query searches. `None` means
    /// all choices.
    all_matches: Option<Vec<u32>>,
    matcher: Matcher,
    pub(super) preview: PreviewState,
}

impl ChoiceList {
    pub(crate) fn choices(&self) -> &Choices {
        &self.choices
    }

    pub(crate) fn new(kind: PickerKind, choices: Choices) -> Self {
        let mut list = Self {
            kind,
            query: String::new(),
            selected: 0,
            choices,
            matches: Vec::new(),
            positions: Vec::new(),
            all_matches: None,
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            preview: PreviewState::default(),
        };
        list.narrow(String::new());
        list
    }

    /// Replaces the choices; the selected one stays selected if it is among them.
    pub(crate) fn set_choices(&mut self, choices: Choices) {
        let selected = match self.selected {
            0 => None,
            _ => self.chosen().map(|choice| choice.name.to_owned()),
        };
        self.choices = choices;
        self.all_matches = None;
        let query = std::mem::take(&mut self.query);
        self.narrow(query);
        if let Some(name) = selected {
            self.select(&name);
        }
    }

    /// Selects a match by its name.
    pub(crate) fn select(&mut self, name: &str) {
        let index = self.matches().position(|(choice, _)| choice.name == name);
        self.selected = index.unwrap_or(self.selected);
    }

    /// Shows what matches `query`, best first.
    pub(crate) fn narrow(&mut self, query: String) {
        let narrows = query.starts_with(&self.query) && is_simple(&query);
        if !narrows || self.query.is_empty() {
            self.all_matches = None;
        }
        self.matches = match query.is_empty() {
            _ if self.kind == PickerKind::History => self.containing(&query),
            true => (0..self.choices.len().min(MAX_MATCHES)).collect(),
            false => self.rank(&query),
        };
        self.positions = self.find_positions(&query);
        self.query = query;
        self.selected = 0;
    }

    /// Returns the choices that contain all words of `query`, in order.
    fn containing(&self, query: &str) -> Vec<usize> {
        let query = query.to_lowercase();
        let has_all = |choice: &Choice| {
            let name = choice.name.to_lowercase();
            query.split_whitespace().all(|word| name.contains(word))
        };
        let choices = self.choices.iter().enumerate();
        let matching = choices.filter(|(_, choice)| has_all(choice));
        matching.map(|(index, _)| index).take(MAX_MATCHES).collect()
    }

    fn rank(&mut self, query: &str) -> Vec<usize> {
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let (choices, matcher) = (&self.choices, &mut self.matcher);
        let count = self.all_matches.as_ref().map_or(choices.len(), Vec::len);
        let is_greedy = count > GREEDY_THRESHOLD && query.is_ascii() && is_simple(query);
        if is_greedy {
            matcher.config.ignore_case = !query.contains(|c: char| c.is_ascii_uppercase());
        }
        let mut score = |index: u32| {
            let name = choices.get(index as usize)?.name;
            // An exact match ranks first, whatever else matches.
            if let Some(exact) = exact_score(name, query) {
                return Some((exact, index));
            }
            let name = Utf32Str::new(name, &mut buffer);
            let score = match is_greedy {
                true => {
                    let query = Utf32Str::Ascii(query.as_bytes());
                    matcher.fuzzy_match_greedy(name, query).map(u32::from)
                }
                false => pattern.score(name, matcher),
            };
            Some((score?, index))
        };
        let scored: Vec<(u32, u32)> = match self.all_matches.take() {
            Some(matching) => matching.into_iter().filter_map(&mut score).collect(),
            None => (0..choices.len() as u32).filter_map(&mut score).collect(),
        };
        self.all_matches = Some(scored.iter().map(|(_, index)| *index).collect());
        best(scored)
    }

    fn find_positions(&mut self, query: &str) -> Vec<Vec<u32>> {
        if query.is_empty() {
            return Vec::new();
        }
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let (choices, matcher) = (&self.choices, &mut self.matcher);
        let positions = self.matches.iter().map(|index| {
            let mut found = Vec::new();
            let name = choices.get(*index).unwrap_or_default().name;
            let name = Utf32Str::new(name, &mut buffer);
            pattern.indices(name, matcher, &mut found);
            found.sort_unstable();
            found
        });
        positions.collect()
    }

    /// Moves the selection and wraps around.
    pub(crate) fn move_by(&mut self, by: isize) {
        let count = self.matches.len();
        if count > 0 {
            self.selected = (self.selected + count).wrapping_add_signed(by) % count;
        }
    }

    /// Moves the selection and stops at the ends.
    pub(crate) fn move_within(&mut self, by: isize) {
        let last = self.matches.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(crate) fn chosen(&self) -> Option<Choice<'_>> {
        self.choices.get(self.chosen_index()?)
    }

    /// Returns the index of the selected choice among all choices.
    pub(crate) fn chosen_index(&self) -> Option<usize> {
        self.matches.get(self.selected).copied()
    }

    /// Returns the matches, each with the indices of the clusters in its name that match the query.
    pub(crate) fn matches(&self) -> impl ExactSizeIterator<Item = (Choice<'_>, &[u32])> {
        let positions = |at: usize| self.positions.get(at).map_or(&[][..], Vec::as_slice);
        let matches = self.matches.iter().enumerate();
        matches
            .map(move |(at, index)| (self.choices.get(*index).unwrap_or_default(), positions(at)))
    }

    /// Returns how many choices match, including those beyond the best that are offered.
    pub(crate) fn match_count(&self) -> usize {
        self.all_matches
            .as_ref()
            .map_or(self.choices.len(), Vec::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }
}

/// Returns whether a query is one word without operators: extending it only narrows the matches.
fn is_simple(query: &str) -> bool {
    !query.contains([' ', '!', '^', '$', '\'', '\\'])
}

/// Returns the score of an exact match; a directory also matches without its slash.
fn exact_score(name: &str, query: &str) -> Option<u32> {
    match name.strip_prefix(query)? {
        "" => Some(u32::MAX),
        "/" => Some(u32::MAX - 1),
        _ => None,
    }
}

fn best(mut scored: Vec<(u32, u32)>) -> Vec<usize> {
    let better = |a: &(u32, u32), b: &(u32, u32)| b.0.cmp(&a.0).then(a.1.cmp(&b.1));
    if scored.len() > MAX_MATCHES {
        scored.select_nth_unstable_by(MAX_MATCHES, better);
        scored.truncate(MAX_MATCHES);
    }
    scored.sort_unstable_by(better);
    let indices = scored.into_iter().map(|(_, index)| index as usize);
    indices.collect()
}
