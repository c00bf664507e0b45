//! Choices in one allocation: a project may have 300,000 files.

#[cfg(test)]
mod tests;

use std::sync::Arc;

/// Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Choices(Arc<Storage>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Storage {
    /// Every name, each followed by its description.
    text: String,
    spans: Vec<Span>,
}

/// The range of a choice in the text: its name, then its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    start: u32,
    name_end: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Choice<'a> {
    pub(crate) name: &'a str,
    pub(crate) description: &'a str,
}

impl Choices {
    pub(crate) fn len(&self) -> usize {
        self.0.spans.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<Choice<'_>> {
        let span = self.0.spans.get(index)?;
        let part = |start: u32, end: u32| self.0.text.get(start as usize..end as usize);
        Some(Choice {
            name: part(span.start, span.name_end)?,
            description: part(span.name_end, span.end)?,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Choice<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Choices without a description, given as ranges of `text`.
    pub(crate) fn from_ranges(text: String, names: impl Iterator<Item = (u32, u32)>) -> Self {
        let span = |(start, end)| Span {
            start,
            name_end: end,
            end,
        };
        Self(Arc::new(Storage {
            text,
            spans: names.map(span).collect(),
        }))
    }

    /// Returns `first`, and then these.
    pub(crate) fn after(&self, first: &Self) -> Self {
        if first.len() == 0 {
            return self.clone();
        }
        let before = &first.0;
        let Ok(shift) = u32::try_from(before.text.len()) else {
            return self.clone();
        };
        let mut text = String::with_capacity(before.text.len() + self.0.text.len());
        text.push_str(&before.text);
        text.push_str(&self.0.text);
        let mut spans = Vec::with_capacity(first.len() + self.len());
        spans.extend_from_slice(&before.spans);
        spans.extend(self.0.spans.iter().map_while(|span| {
            Some(Span {
                start: span.start.checked_add(shift)?,
                name_end: span.name_end.checked_add(shift)?,
                end: span.end.checked_add(shift)?,
            })
        }));
        Self(Arc::new(Storage { text, spans }))
    }

    /// Choices without a description.
    pub(crate) fn named<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        names.into_iter().map(|name| (name, "")).collect()
    }
}

/// Collects names and descriptions.
impl<N: AsRef<str>, D: AsRef<str>> FromIterator<(N, D)> for Choices {
    fn from_iter<I: IntoIterator<Item = (N, D)>>(choices: I) -> Self {
        let mut storage = Storage::default();
        for (name, description) in choices {
            let start = storage.text.len();
            storage.text.push_str(name.as_ref());
            let name_end = storage.text.len();
            storage.text.push_str(description.as_ref());
            let offsets = [start, name_end, storage.text.len()].map(u32::try_from);
            let [Ok(start), Ok(name_end), Ok(end)] = offsets else {
                // Offsets have 32 bits.
                break;
            };
            storage.spans.push(Span {
                start,
                name_end,
                end,
            });
        }
        Self(Arc::new(storage))
    }
}
