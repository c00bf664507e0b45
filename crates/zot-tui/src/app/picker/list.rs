//! A list to choose from, narrowed by what is typed.

#[cfg(test)]
mod tests;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use super::choices::{Choice, Choices};
use super::preview::Previewing;

/// More matches than anybody looks at.
const MAX_MATCHES: usize = 200;

/// Among so many the first way a query fits is taken for the best: that is several times faster.
const CROWD: usize = 20_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PickerKind {
    /// `/` and what is written behind it.
    Commands,
    /// `@` and what is written behind it.
    Files,
    Models,
    /// What was said in this conversation.
    Prompts,
    /// What was written before, also in other conversations; the newest first.
    History,
    /// Where in this conversation a copy of it ends.
    ForkPoints,
    Settings,
    /// Conversations of earlier times in the same place.
    Sessions,
    Skills,
    Themes,
    /// Providers to give a key for.
    LogIn,
    /// Providers whose key is kept.
    LogOut,
}

impl PickerKind {
    /// Whether what is typed narrows the list instead of going to the editor.
    pub(crate) fn takes_keys(self) -> bool {
        !matches!(self, Self::Commands | Self::Files)
    }

    /// Whether a name alone says which choice it is, so that typing it can be finished with tab.
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
    /// What is offered, the best first.
    matches: Vec<usize>,
    /// Of each of them, which clusters of its name the query is in.
    places: Vec<Vec<u32>>,
    /// All that fits the query, in the order of the choices: what fits a longer one is among them.
    /// `None` is everything.
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

    /// Offers others; the selected one stays selected when it is among them.
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

    /// Selects what is called that, if it is offered.
    pub(crate) fn select(&mut self, name: &str) {
        let place = self.matches().position(|(choice, _)| choice.name == name);
        self.selected = place.unwrap_or(self.selected);
    }

    /// Shows what fits `query`, the best first.
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

    /// What has all words of `query`, in the order of the choices.
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
            // Whoever has written it out means it, whatever else it fits as well.
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

    /// Goes up or down, and round at the ends.
    pub(crate) fn move_by(&mut self, by: isize) {
        let count = self.matches.len();
        if count > 0 {
            self.selected = (self.selected + count).wrapping_add_signed(by) % count;
        }
    }

    /// Goes up or down, to the ends at most.
    pub(crate) fn leap(&mut self, by: isize) {
        let last = self.matches.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(crate) fn chosen(&self) -> Option<Choice<'_>> {
        self.choices.get(self.chosen_index()?)
    }

    /// Which of all choices it is.
    pub(crate) fn chosen_index(&self) -> Option<usize> {
        self.matches.get(self.selected).copied()
    }

    /// What is offered, each with the clusters of its name that the query is in.
    pub(crate) fn matches(&self) -> impl ExactSizeIterator<Item = (Choice<'_>, &[u32])> {
        let places = |at: usize| self.places.get(at).map_or(&[][..], Vec::as_slice);
        let matches = self.matches.iter().enumerate();
        matches.map(move |(at, index)| (self.choices.get(*index).unwrap_or_default(), places(at)))
    }

    /// How many choices fit; of very many only the best are offered.
    pub(crate) fn fitting(&self) -> usize {
        self.fitting.as_ref().map_or(self.choices.len(), Vec::len)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.matches.is_empty()
    }
}

/// One word without marks: what fits it when it gets longer did so before.
fn is_simple(query: &str) -> bool {
    !query.contains([' ', '!', '^', '$', '\'', '\\'])
}

/// The score of a name that was written out, a directory's also without its slash.
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
