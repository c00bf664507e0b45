//! The skills that are part of the program.

#[cfg(test)]
mod tests;

use crate::skill::Skill;

const WRITE_ZOT_EXTENSION: &str = include_str!("../skills/write-zot-extension/SKILL.md");

/// Returns the built-in skills. Tests ensure that none is left out.
pub(crate) fn skills() -> Vec<Skill> {
    [("write-zot-extension", WRITE_ZOT_EXTENSION)]
        .into_iter()
        .filter_map(|(name, text)| Skill::built_in(text, name).ok())
        .collect()
}
