//! Prompt templates: Markdown files that slash commands expand to.

mod expansion;
pub use expansion::split_words;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::file::{entries, read_text, require_inside};
use crate::front_matter;
use crate::problem::{Problem, ProblemCause};
use crate::skill::check_skill_name;

/// The longest template.
///
/// Limit: the template is refused.
const MAX_TEMPLATE_BYTES: usize = 64 * 1024;

/// How many templates of one directory are read.
///
/// Limit: further templates of a directory are not listed.
const MAX_TEMPLATES: usize = 256;

/// How much of a template's first line replaces a missing description.
const MAX_DESCRIPTION_CHARACTERS: usize = 80;

/// Where a template was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TemplateSource {
    /// `./.zot/prompts`
    Project,
    /// `$ZOT_HOME/prompts`
    User,
}

/// A prompt with placeholders for arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// Without the slash.
    pub name: String,
    pub description: String,
    pub path: PathBuf,
    pub source: TemplateSource,
    body: String,
}

impl Template {
    /// Returns the prompt for the arguments that the user wrote.
    pub fn expand(&self, arguments: &str) -> String {
        expansion::expand(&self.body, arguments)
    }

    fn parse(text: &str, name: &str) -> Result<(String, String), ProblemCause> {
        check_skill_name(name)?;
        let document = front_matter::split(text)?;
        let body = document.body.trim_end().to_owned();
        let description = match document.fields.get("description") {
            Some(Value::String(description)) if !description.trim().is_empty() => {
                description.split_whitespace().collect::<Vec<_>>().join(" ")
            }
            _ => first_line(&body),
        };
        Ok((description, body))
    }
}

fn first_line(body: &str) -> String {
    let mut lines = body.lines().map(|line| line.trim_start_matches('#').trim());
    let line = lines.find(|line| !line.is_empty()).unwrap_or_default();
    match line.char_indices().nth(MAX_DESCRIPTION_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

/// The templates of a project and its user. Files are read when they are needed, so that starting
/// costs nothing and edits apply at once.
#[derive(Debug, Clone, Default)]
pub struct Templates {
    directories: Vec<(TemplateSource, PathBuf)>,
    /// No file of the project may lead out of this directory.
    root: PathBuf,
}

impl Templates {
    /// Returns the templates in the usual directories: `.zot/prompts` below `cwd`, and `prompts`
    /// below zot's `home`.
    pub fn usual(cwd: &Path, home: &Path) -> Self {
        Self {
            directories: vec![
                (TemplateSource::Project, cwd.join(".zot/prompts")),
                (TemplateSource::User, home.join("prompts")),
            ],
            root: cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()),
        }
    }

    /// Returns all usable templates by name, and the problems of the others. The project's
    /// templates take precedence.
    pub fn list(&self) -> (Vec<Template>, Vec<Problem>) {
        let mut templates: Vec<Template> = Vec::new();
        let mut problems = Vec::new();
        for (source, directory) in &self.directories {
            for name in names(directory) {
                let path = directory.join(format!("{name}.md"));
                match self.read(&name, path.clone(), *source) {
                    Ok(template) if templates.iter().all(|other| other.name != name) => {
                        templates.push(template);
                    }
                    Ok(_) => {}
                    Err(cause) => problems.push(Problem::new(path, cause)),
                }
            }
        }
        templates.sort_by(|one, other| one.name.cmp(&other.name));
        (templates, problems)
    }

    /// Finds the template called `name`. One that exists but cannot be used is an error.
    pub fn find(&self, name: &str) -> Result<Option<Template>, Problem> {
        if check_skill_name(name).is_err() {
            return Ok(None);
        }
        for (source, directory) in &self.directories {
            let path = directory.join(format!("{name}.md"));
            match self.read(name, path.clone(), *source) {
                Ok(template) => return Ok(Some(template)),
                Err(ProblemCause::Read(error)) if error.is_absence() => {}
                Err(cause) => return Err(Problem::new(path, cause)),
            }
        }
        Ok(None)
    }

    /// Expands a text that begins with `/name`, if that is a template: the rest of its first line
    /// is the arguments, and further lines follow the expansion. Returns `None` for other texts.
    pub fn expand(&self, text: &str) -> Result<Option<String>, Problem> {
        let Some((name, arguments, rest)) = command(text) else {
            return Ok(None);
        };
        let Some(template) = self.find(name)? else {
            return Ok(None);
        };
        let mut expanded = template.expand(arguments);
        if !rest.trim().is_empty() {
            expanded.push_str("\n\n");
            expanded.push_str(rest.trim());
        }
        Ok(Some(expanded))
    }

    /// Returns the name of the template that `text` asks for, if there is no such template: `text`
    /// begins with `/name`, which is not a file either.
    pub fn missing<'a>(&self, text: &'a str) -> Option<&'a str> {
        let (name, ..) = command(text)?;
        let is_missing = !self.directories.is_empty()
            && check_skill_name(name).is_ok()
            && matches!(self.find(name), Ok(None))
            && !Path::new("/").join(name).exists();
        is_missing.then_some(name)
    }

    fn read(
        &self,
        name: &str,
        path: PathBuf,
        source: TemplateSource,
    ) -> Result<Template, ProblemCause> {
        if source == TemplateSource::Project {
            require_inside(&path, &self.root)?;
        }
        let text = read_text(&path, MAX_TEMPLATE_BYTES)?;
        let (description, body) = Template::parse(&text, name)?;
        Ok(Template {
            name: name.to_owned(),
            description,
            path,
            source,
            body,
        })
    }
}

/// Returns the name, the arguments and the further lines of a text that looks like a slash command.
fn command(text: &str) -> Option<(&str, &str, &str)> {
    let text = text.trim_start().strip_prefix('/')?;
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    Some((name, arguments.trim(), rest))
}

/// Returns the names of the Markdown files in a directory, sorted.
fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = entries(directory) else {
        return Vec::new();
    };
    let mut names: Vec<String> = entries
        .filter_map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let name = name.strip_suffix(".md")?.to_owned();
            (!name.starts_with('.')).then_some(name)
        })
        .collect();
    names.sort();
    names.truncate(MAX_TEMPLATES);
    names
}
