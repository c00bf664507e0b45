//! Attaches the files and directories that a prompt mentions.

mod parts;
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use zot_conversation::{ContentBlock, Image};

use crate::file::{
    Cut, MAX_DIRECTORY_ENTRIES, ReadError, entries, read_resolved, require_inside,
    text_of_beginning,
};
use crate::mention::{Mention, mentions};
use crate::problem::Problem;
use crate::resource::{MentionedResource, Resources};

pub use parts::{Outcome, Part, attached_parts};

/// How many things one prompt attaches.
///
/// Limit: further mentions are left out, with a note in the prompt.
const MAX_MENTIONS: usize = 32;

/// The most bytes of one file; about as much as one call of `read` shows.
///
/// Limit: the file is cut, with a note in the prompt.
const MAX_MENTIONED_FILE_BYTES: usize = 64 * 1024;

/// The most bytes of text of all files together.
///
/// Limit: further text is left out, with a note in the prompt.
const MAX_MENTIONED_TEXT_BYTES: usize = 256 * 1024;

/// The largest image, as for `read`.
///
/// Limit: the image is not attached, with a note in the prompt.
const MAX_MENTIONED_IMAGE_BYTES: usize = 20 * 1024 * 1024;

/// All images together: providers refuse larger requests.
///
/// Limit: further images are not attached, with a note in the prompt.
const MAX_MENTIONED_IMAGES_BYTES: usize = 32 * 1024 * 1024;

/// The most entries of a directory.
///
/// Limit: further names are left out, with a note in the prompt.
const MAX_MENTIONED_DIRECTORY_ENTRIES: usize = 500;

/// A NUL in the first bytes of a file makes it binary.
const SNIFF_BYTES: usize = 8 * 1024;

/// A longer ending of a name is not taken for the extension of a file.
const MAX_EXTENSION_LENGTH: usize = 8;

/// What is attached to a prompt.
#[derive(Debug, Default)]
pub struct Attached {
    /// To be appended to the prompt's text; empty if nothing was mentioned.
    pub text: String,
    pub images: Vec<Image>,
    /// What was mentioned and exists, but could not be attached. `text` also tells the model.
    pub problems: Vec<Problem>,
    /// Mentions that look like paths but name nothing that exists. They stay plain text.
    pub missing: Vec<String>,
    /// Resources of servers, which have not been read.
    pub resources: Vec<MentionedResource>,
    /// Everything that was mentioned, in order, with its outcome; includes what does not exist,
    /// which `text` does not mention.
    pub parts: Vec<Part>,
}

/// Attaches what `text` mentions. Relative paths start at `cwd`, `~` is `home`. A mention of
/// something that does not exist stays plain text.
///
/// `root` is the project: a path inside of it may not lead out of it through links, which someone
/// other than the user may have created. A typed path that is outside is intended.
pub fn attach(text: &str, cwd: &Path, home: Option<&Path>, root: &Path) -> Attached {
    attach_with(text, cwd, home, root, &Resources::default())
}

/// Attaches what `text` mentions, as [`attach`] does, and finds the resources of servers, which
/// [`attach_resources`] attaches once they are read.
pub fn attach_with(
    text: &str,
    cwd: &Path,
    home: Option<&Path>,
    root: &Path,
    resources: &Resources,
) -> Attached {
    let mut attached = Attached::default();
    let mut seen = HashSet::new();
    for mention in mentions(text) {
        if let Some(resource) = resources.resolve(&mention) {
            let name = resource.to_string();
            if seen.insert(PathBuf::from(format!("@{name}"))) && seen.len() <= MAX_MENTIONS {
                attached.resources.push(resource);
                attached.parts.push(Part {
                    name,
                    outcome: Outcome::Resource,
                });
            }
            continue;
        }
        let Some((shown, path)) = resolve(&mention, cwd, home) else {
            // The last candidate has no punctuation after it.
            if let Some(name) = mention.candidates.last() {
                attached.parts.push(Part::missing(name));
                if looks_like_path(name, cwd) {
                    attached.missing.push((*name).to_owned());
                }
            }
            continue;
        };
        let before = attached.text.len();
        if !seen.insert(path.clone()) {
            continue;
        }
        if seen.len() > MAX_MENTIONS {
            attached.note(&format!(
                "{shown} and what follows: not attached, {MAX_MENTIONS} are the most"
            ));
            attached.describe(before, &path);
            break;
        }
        let added = admit(&path, root).and_then(|resolved| attached.add(shown, &resolved));
        if let Err(error) = added {
            attached.note(&format!("{shown}: not attached, it {error}"));
            attached.problems.push(Problem::new(path.clone(), error));
        }
        attached.describe(before, &path);
    }
    attached
}

/// Attaches resources as they were read, or tells why they were not.
pub fn attach_resources(
    read: &[(MentionedResource, Result<Vec<ContentBlock>, String>)],
) -> Attached {
    let mut attached = Attached::default();
    for (resource, contents) in read {
        attached.add_resource(&resource.to_string(), contents);
    }
    attached
}

/// Returns the first candidate of a mention that exists.
fn resolve<'a>(
    mention: &Mention<'a>,
    cwd: &Path,
    home: Option<&Path>,
) -> Option<(&'a str, PathBuf)> {
    let readings = mention.candidates.iter().map(|shown| {
        let path = match (shown.strip_prefix("~/"), home) {
            (Some(below), Some(home)) => home.join(below),
            _ if *shown == "~" => home.unwrap_or(cwd).to_owned(),
            _ => cwd.join(shown),
        };
        (*shown, path)
    });
    let mut there = readings.filter(|(_, path)| path.symlink_metadata().is_ok());
    there.next()
}

/// Returns whether a mention of something that does not exist is probably a mistyped path, and not a
/// user's handle, a decorator or the name of a package.
fn looks_like_path(name: &str, cwd: &Path) -> bool {
    if name.contains(['(', ')', '[', ']', '{', '}', '<', '>', '=', '$']) {
        return false;
    }
    let path = Path::new(name);
    let extension = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    let has_extension = (1..=MAX_EXTENSION_LENGTH).contains(&extension.len())
        && extension
            .chars()
            .all(|character| character.is_ascii_alphanumeric())
        && extension.contains(|character: char| character.is_ascii_alphabetic());
    let is_anchored = ["/", "./", "../", "~/"]
        .iter()
        .any(|start| name.starts_with(start));
    let parent = path.parent().unwrap_or(Path::new(""));
    let is_in_directory = !parent.as_os_str().is_empty() && cwd.join(parent).is_dir();
    has_extension || is_anchored || is_in_directory || name.contains(' ')
}

/// Returns the path without links, unless its links lead out of the project.
fn admit(path: &Path, root: &Path) -> Result<PathBuf, ReadError> {
    let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let typed = without_dots(path);
    if typed.starts_with(root) || typed.starts_with(&real_root) {
        return require_inside(path, &real_root);
    }
    Ok(path.canonicalize()?)
}

/// Resolves every `..` in the path, without following links.
fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

impl Attached {
    /// Adds what was just attached to the parts; its text begins at `before`.
    fn describe(&mut self, before: usize, path: &Path) {
        let added = self.text.get(before..).unwrap_or_default().trim_start();
        let (_, mut parts) = attached_parts(added);
        for part in &mut parts {
            match &mut part.outcome {
                // The text does not show whether the last line of the file ends with a line feed.
                Outcome::File { bytes } => {
                    *bytes = path.metadata().map_or(*bytes, |found| found.len());
                }
                Outcome::Image { bytes } => {
                    *bytes = self.images.last().map(|image| image.data.len() as u64);
                }
                _ => {}
            }
        }
        self.parts.extend(parts);
    }

    fn add(&mut self, shown: &str, path: &Path) -> Result<(), ReadError> {
        let metadata = path.metadata()?;
        if metadata.is_dir() {
            return self.add_directory(shown, path);
        }
        let head = read_resolved(path, SNIFF_BYTES)?;
        if let Some(mime_type) = Image::mime_type_of(&head.bytes) {
            return self.add_image(shown, path, mime_type);
        }
        if head.bytes.contains(&0) {
            self.note(&match Image::unsupported_format(&head.bytes) {
                Some(format) => format!(
                    "{shown}: a {format} file of {} bytes, not attached: models take PNG, JPEG, GIF \
                     and WebP images",
                    head.length
                ),
                None => format!(
                    "{shown}: a binary file of {} bytes, not attached",
                    head.length
                ),
            });
            return Ok(());
        }
        self.add_text(shown, path)
    }

    fn add_text(&mut self, shown: &str, path: &Path) -> Result<(), ReadError> {
        let limit =
            MAX_MENTIONED_FILE_BYTES.min(MAX_MENTIONED_TEXT_BYTES.saturating_sub(self.text.len()));
        if limit == 0 {
            self.note(&format!(
                "{shown}: not attached, all files together may have {MAX_MENTIONED_TEXT_BYTES} bytes; read it \
                 if you need it"
            ));
            return Ok(());
        }
        let beginning = read_resolved(path, limit)?;
        let length = beginning.length;
        let cut = match length > beginning.bytes.len() as u64 {
            true => Cut::Somewhere,
            false => Cut::Nowhere,
        };
        let text = match text_of_beginning(beginning.bytes, cut) {
            Ok(text) => text,
            Err(_) => {
                self.note(&format!(
                    "{shown}: a binary file of {length} bytes, not attached"
                ));
                return Ok(());
            }
        };
        let heading = match cut {
            Cut::Nowhere => format!("{shown}, attached by the user"),
            Cut::Somewhere => format!(
                "{shown}, attached by the user: the first {} of {length} bytes; read it for the rest",
                text.len()
            ),
        };
        self.block(&heading, &text);
        Ok(())
    }

    fn add_directory(&mut self, shown: &str, path: &Path) -> Result<(), ReadError> {
        let mut names: Vec<String> = entries(path)?
            .map(|entry| {
                let is_directory = entry.path().is_dir();
                let mut name = entry.file_name().to_string_lossy().into_owned();
                if is_directory {
                    name.push('/');
                }
                name
            })
            .collect();
        names.sort();
        let all = names.len();
        names.truncate(MAX_MENTIONED_DIRECTORY_ENTRIES);
        let mut heading = format!("{shown}, a directory attached by the user");
        if all > names.len() {
            let least = if all == MAX_DIRECTORY_ENTRIES {
                "at least "
            } else {
                ""
            };
            // Writing to a String cannot fail.
            let _ = write!(heading, ": {} of {least}{all} entries", names.len());
        }
        let mut listing = names.join("\n");
        listing.push('\n');
        self.block(&heading, &listing);
        Ok(())
    }

    fn add_image(&mut self, shown: &str, path: &Path, mime_type: &str) -> Result<(), ReadError> {
        let attached: usize = self.images.iter().map(|image| image.data.len()).sum();
        let limit =
            MAX_MENTIONED_IMAGE_BYTES.min(MAX_MENTIONED_IMAGES_BYTES.saturating_sub(attached));
        let beginning = read_resolved(path, limit + 1)?;
        if beginning.bytes.len() > limit {
            return Err(ReadError::TooLong { limit });
        }
        self.note(&format!("{shown}: an image, attached by the user"));
        self.images.push(Image {
            mime_type: mime_type.to_owned(),
            data: beginning.bytes.into(),
        });
        Ok(())
    }

    /// Adds what was read of a resource.
    fn add_resource(&mut self, name: &str, contents: &Result<Vec<ContentBlock>, String>) {
        let part = |outcome: Outcome| Part {
            name: name.to_owned(),
            outcome,
        };
        let blocks = match contents {
            Err(reason) => {
                let reason = reason.replace('\n', " ");
                self.note(&format!("{name}: not attached, {reason}"));
                return self.parts.push(part(Outcome::NotAttached { reason }));
            }
            Ok(blocks) => blocks,
        };
        let mut text = String::new();
        for block in blocks {
            match block {
                ContentBlock::Text(more) => {
                    if !text.is_empty() && !text.ends_with('\n') {
                        text.push('\n');
                    }
                    text.push_str(more);
                }
                ContentBlock::Image(image) => self.add_resource_image(name, image),
                _ => {}
            }
        }
        let has_image = blocks
            .iter()
            .any(|block| matches!(block, ContentBlock::Image(_)));
        if !text.is_empty() || !has_image {
            self.add_resource_text(name, &text);
        }
    }

    fn add_resource_text(&mut self, name: &str, text: &str) {
        let limit =
            MAX_MENTIONED_FILE_BYTES.min(MAX_MENTIONED_TEXT_BYTES.saturating_sub(self.text.len()));
        let kept = &text[..text.floor_char_boundary(limit.min(text.len()))];
        let (bytes, of) = (kept.len() as u64, text.len() as u64);
        let (heading, outcome) = match bytes == of {
            true => (
                format!("{name}, attached by the user"),
                Outcome::File { bytes },
            ),
            false => (
                format!("{name}, attached by the user: the first {bytes} of {of} bytes"),
                Outcome::Beginning { bytes, of },
            ),
        };
        self.block(&heading, kept);
        self.parts.push(Part {
            name: name.to_owned(),
            outcome,
        });
    }

    fn add_resource_image(&mut self, name: &str, image: &Image) {
        let attached: usize = self.images.iter().map(|image| image.data.len()).sum();
        let limit =
            MAX_MENTIONED_IMAGE_BYTES.min(MAX_MENTIONED_IMAGES_BYTES.saturating_sub(attached));
        let outcome = match image.data.len() > limit {
            true => {
                let reason = ReadError::TooLong { limit }.to_string();
                self.note(&format!("{name}: not attached, it {reason}"));
                Outcome::NotAttached { reason }
            }
            false => {
                self.note(&format!("{name}: an image, attached by the user"));
                let bytes = Some(image.data.len() as u64);
                self.images.push(image.clone());
                Outcome::Image { bytes }
            }
        };
        self.parts.push(Part {
            name: name.to_owned(),
            outcome,
        });
    }

    fn note(&mut self, note: &str) {
        self.separate();
        // Writing to a String cannot fail.
        let _ = write!(self.text, "[{note}]");
    }

    /// Adds a text between fences that it does not contain itself.
    fn block(&mut self, heading: &str, text: &str) {
        self.separate();
        let fence = "`".repeat(longest_run(text, '`').max(2) + 1);
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let _ = write!(self.text, "[{heading}]\n{fence}\n{text}{end}{fence}");
    }

    fn separate(&mut self) {
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
    }
}

fn longest_run(text: &str, wanted: char) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for character in text.chars() {
        run = if character == wanted { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}
