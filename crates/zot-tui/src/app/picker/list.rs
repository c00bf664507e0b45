//! A list of choices, narrowed by a query.

#[cfg(test)]
mod tests;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::choices::{Choice, Choices};
use super::preview::Previewing;

/// More matches than anyone reads.
const MAX_MATCHES: usize = 200;

/// From this many names on, the first alignment of a query counts: several times faster than the best.
const CROWD: usize = 20_000;

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
    /// Providers to log in to.
    LogIn,
    /// Providers with a stored credential.
    LogOut,
}

impl PickerKind {
    /// Whether typed characters narrow the list instead of going to the editor.
    pub(crate) fn takes_keys(self) -> bool {
        !matches!(self, Self::Commands | Self::Files)
    }

    /// Whether names are unique, so that tab can complete them.
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
    /// For each match, the clusters of its name that match the query.
    places: Vec<Vec<u32>>,
    /// Everything that matches the query, in the order of the choices, for longer queries. `None` is
    /// everything.
    fitting: Option<Vec<u32>>,
    matcher: Matcher,
    pub(super) preview: Previewing,
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
            places: Vec::new(),
            fitting: None,
            matcher: Matcher::new(Config::DEFAULT.match_paths()),
            preview: Previewing::default(),
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
        self.fitting = None;
        let query = std::mem::take(&mut self.query);
        self.narrow(query);
        if let Some(name) = selected {
            self.select(&name);
        }
    }

    /// Selects a match by its name.
    pub(crate) fn select(&mut self, name: &str) {
        let place = self.matches().position(|(choice, _)| choice.name == name);
        self.selected = place.unwrap_or(self.selected);
    }

    /// Shows what matches `query`, best first.
    pub(crate) fn narrow(&mut self, query: String) {
        let narrows = query.starts_with(&self.query) && is_simple(&query);
        if !narrows || self.query.is_empty() {
            self.fitting = None;
        }
        self.matches = match query.is_empty() {
            _ if self.kind == PickerKind::History => self.containing(&query),
            true => (0..self.choices.len().min(MAX_MATCHES)).collect(),
            false => self.rank(&query),
        };
        self.places = self.find_places(&query);
        self.query = query;
        self.selected = 0;
    }

    /// Choices that contain all words of `query`, in order.
    fn containing(&self, query: &str) -> Vec<usize> {
        let query = query.to_lowercase();
        let has_all = |choice: &Choice| {
            let name = choice.name.to_lowercase();
            query.split_whitespace().all(|word| name.contains(word))
        };
        let choices = self.choices.iter().enumerate();
        let fitting = choices.filter(|(_, choice)| has_all(choice));
        fitting.map(|(index, _)| index).take(MAX_MATCHES).collect()
    }

    fn rank(&mut self, query: &str) -> Vec<usize> {
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let (choices, matcher) = (&self.choices, &mut self.matcher);
        let count = self.fitting.as_ref().map_or(choices.len(), Vec::len);
        let is_crowd = count > CROWD && query.is_ascii() && is_simple(query);
        if is_crowd {
            matcher.config.ignore_case = !query.contains(|c: char| c.is_ascii_uppercase());
        }
        let mut score = |index: u32| {
            let name = choices.get(index as usize)?.name;
            // A name that is typed out is meant, whatever else matches.
            if let Some(exact) = exactness(name, query) {
                return Some((exact, index));
            }
            let name = Utf32Str::new(name, &mut buffer);
            let score = match is_crowd {
                true => {
                    let query = Utf32Str::Ascii(query.as_bytes());
                    matcher.fuzzy_match_greedy(name, query).map(u32::from)
                }
                false => pattern.score(name, matcher),
            };
            Some((score?, index))
        };
        let scored: Vec<(u32, u32)> = match self.fitting.take() {
            Some(fitting) => fitting.into_iter().filter_map(&mut score).collect(),
            None => (0..choices.len() as u32).filter_map(&mut score).collect(),
        };
        self.fitting = Some(scored.iter().map(|(_, index)| *index).collect());
        best(scored)
    }

    fn find_places(&mut self, query: &str) -> Vec<Vec<u32>> {
        if query.is_empty() {
            return Vec::new();
        }
        let pattern = Pattern::parse(query, CaseMatching::Smart, Normalization::Smart);
        let mut buffer = Vec::new();
        let (choices, matcher) = (&self.choices, &mut self.matcher);
        let places = self.matches.iter().map(|index| {
            let mut found = Vec::new();
            let name = choices.get(*index).unwrap_or_default().name;
            let name = Utf32Str::new(name, &mut buffer);
            pattern.indices(name, matcher, &mut found);
            found.sort_unstable();
            found
        });
        places.collect()
    }

    /// Moves the selection, and wraps around.
    pub(crate) fn move_by(&mut self, by: isize) {
        let count = self.matches.len();
        if count > 0 {
            self.selected = (self.selected + count).wrapping_add_signed(by) % count;
        }
    }

    /// Moves the selection, and stops at the ends.
    pub(crate) fn leap(&mut self, by: isize) {
        let last = self.matches.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(crate) fn chosen(&self) -> Option<Choice<'_>> {
        self.choices.get(self.chosen_index()?)
    }

    /// Its index among all choices.
    pub(crate) fn chosen_index(&self) -> Option<usize> {
        self.matches.get(self.selected).copied()
    }

    /// The matches, each with the clusters of its name that match the query.
    pub(crate) fn matches(&self) -> impl ExactSizeIterator<Item = (Choice<'_>, &[u32])> {
        let places = |at: usize| self.places.get(at).map_or(&[][..], Vec::as_slice);
        let matches = self.matches.iter().enumerate();
        matches.map(move |(at, index)| (self.choices.get(*index).unwrap_or_default(), places(at)))
    }

    /// How many choices match; only the best of very many are offered.
    pub(crate) fn fitting(&self) -> usize {
        self.fitting.as_ref().map_or(self.choices.len(), Vec::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }
}

/// Whether a query is one word without operators, whose longer forms match a subset.
fn is_simple(query: &str) -> bool {
    !query.contains([' ', '!', '^', '$', '\'', '\\'])
}

/// The score of a name that is typed out; a directory also without its slash.
fn exactness(name: &str, query: &str) -> Option<u32> {
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
