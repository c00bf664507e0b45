//! Choices in one piece of memory: a project may have 300,000 files.

#[cfg(test)]
mod tests;

use std::sync::Arc;

/// Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Choices(Arc<Kept>);

#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Kept {
    /// Every name, each followed by its description.
    text: String,
    places: Vec<Place>,
}

/// The range of a choice in the text: its name, then its description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
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
        self.0.places.len()
    }

    pub(crate) fn get(&self, index: usize) -> Option<Choice<'_>> {
        let place = self.0.places.get(index)?;
        let part = |start: u32, end: u32| self.0.text.get(start as usize..end as usize);
        Some(Choice {
            name: part(place.start, place.name_end)?,
            description: part(place.name_end, place.end)?,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Choice<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// Choices without a description, given as ranges of `text`.
    pub(crate) fn placed(text: String, names: impl Iterator<Item = (u32, u32)>) -> Self {
        let place = |(start, end)| Place {
            start,
            name_end: end,
            end,
        };
        Self(Arc::new(Kept {
            text,
            places: names.map(place).collect(),
        }))
    }

    /// Choices without a description.
    pub(crate) fn named<N: AsRef<str>>(names: impl IntoIterator<Item = N>) -> Self {
        names.into_iter().map(|name| (name, "")).collect()
    }
}

/// From names and descriptions.
impl<N: AsRef<str>, D: AsRef<str>> FromIterator<(N, D)> for Choices {
    fn from_iter<I: IntoIterator<Item = (N, D)>>(choices: I) -> Self {
        let mut kept = Kept::default();
        for (name, description) in choices {
            let start = kept.text.len();
            kept.text.push_str(name.as_ref());
            let name_end = kept.text.len();
            kept.text.push_str(description.as_ref());
            let offsets = [start, name_end, kept.text.len()].map(u32::try_from);
            let [Ok(start), Ok(name_end), Ok(end)] = offsets else {
                // Offsets end at 4 GiB.
                break;
            };
            kept.places.push(Place {
                start,
                name_end,
                end,
            });
        }
        Self(Arc::new(kept))
    }
}
