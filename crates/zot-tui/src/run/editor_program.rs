//! Edits text in `$EDITOR`.

#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use tokio::process::Command;

/// Why editing failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditError {
    #[error("no editor: set VISUAL or EDITOR")]
    NoEditor,
    #[error("start {editor}: {source}")]
    NotFound {
        editor: String,
        #[source]
        source: io::Error,
    },
    #[error("{editor} failed ({status}); your text is kept")]
    Failed { editor: String, status: ExitStatus },
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Lets the user change `text` in an editor, which controls the terminal meanwhile.
pub(super) async fn edit(text: &str, cwd: &Path) -> Result<String, EditError> {
    let variable = |name| {
        std::env::var(name)
            .ok()
            .filter(|value: &String| !value.is_empty())
    };
    let editor = variable("VISUAL")
        .or_else(|| variable("EDITOR"))
        .ok_or(EditError::NoEditor)?;
    let command = match find(&editor, cwd) {
        Ok(command) => command,
        Err(source) => return Err(EditError::NotFound { editor, source }),
    };
    let directory = zot_files::ScratchDirectory::new(zot_files::Scratch::Edit)?;
    let path = directory.path().join("prompt.md");
    fs::write(&path, text)?;
    // The variable may hold arguments, which a shell splits.
    let status = Command::new("/bin/sh")
        .arg("-c")
        .arg(format!("{} \"$1\"", command.text))
        .arg("sh")
        .arg(&path)
        .args(command.program)
        .status()
        .await?;
    match status.success() {
        true => Ok(fs::read_to_string(&path)?),
        false => Err(EditError::Failed { editor, status }),
    }
}

/// The beginning of a shell command.
#[derive(Debug, PartialEq, Eq)]
struct EditorCommand {
    text: String,
    /// The second argument of the command.
    program: Option<PathBuf>,
}

/// Finds an editor that is given by its name: not in the working directory, where a confined command may
/// have put one. A path or anything else that a shell understands stays as it is.
fn find(editor: &str, cwd: &Path) -> io::Result<EditorCommand> {
    let editor = editor.trim_start();
    let is_plain =
        |character: char| character.is_ascii_alphanumeric() || "._+-".contains(character);
    let end = editor.find(|character| !is_plain(character));
    let (name, arguments) = editor.split_at(end.unwrap_or(editor.len()));
    let is_name = !name.is_empty() && (arguments.is_empty() || arguments.starts_with(' '));
    Ok(match is_name {
        true => EditorCommand {
            text: format!("\"$2\"{arguments}"),
            program: Some(zot_process::find_helper(name, cwd)?),
        },
        false => EditorCommand {
            text: editor.to_owned(),
            program: None,
        },
    })
}
