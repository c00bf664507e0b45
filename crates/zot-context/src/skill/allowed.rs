//! The tools a skill restricts itself to.

use serde_json::Value;

use super::SkillError;

/// The value of `allowed-tools`: a list, or names separated by commas or blanks.
///
/// `Bash(git:*)` allows all of `bash`: the text of a shell command does not show which programs it
/// runs, and a limit that is easily bypassed would be worse than none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowedTools {
    names: Vec<String>,
    patterns: Vec<String>,
}

impl AllowedTools {
    pub(super) fn of(value: &Value) -> Result<Self, SkillError> {
        let wrong = SkillError::WrongType {
            field: "allowed-tools",
            expected: "a list of names, or names separated by commas",
        };
        let mut allowed = Self::default();
        match value {
            Value::String(text) => split(text).for_each(|entry| allowed.add(entry)),
            Value::Array(items) => {
                for item in items {
                    let Value::String(entry) = item else {
                        return Err(wrong);
                    };
                    allowed.add(entry.trim());
                }
            }
            _ => return Err(wrong),
        }
        Ok(allowed)
    }

    fn add(&mut self, entry: &str) {
        let name = match entry.split_once('(') {
            Some((name, _)) => {
                self.patterns.push(entry.to_owned());
                name.trim()
            }
            None => entry,
        };
        if !name.is_empty() && !self.allows(name) {
            self.names.push(name.to_ascii_lowercase());
        }
    }

    /// Returns whether a tool is allowed. `Read` means `read`: other agents write names like that.
    pub fn allows(&self, tool: &str) -> bool {
        let mut names = self.names.iter();
        names.any(|name| name.eq_ignore_ascii_case(tool))
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns entries like `Bash(git:*)`, of which only the name counts.
    pub fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

/// Splits a text at commas or blanks outside of parentheses.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_u32;
    text.split(move |character: char| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (character == ',' || character.is_whitespace())
    })
    .filter(|entry| !entry.is_empty())
}
