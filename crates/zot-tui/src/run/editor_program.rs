//! Edits text in `$EDITOR`.

use std::fs;
use std::io;
use std::process::ExitStatus;

use tokio::process::Command;

/// Why editing failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditError {
    #[error("no editor: set VISUAL or EDITOR")]
    NoEditor,
    #[error("{editor} failed ({status}); your text is kept")]
    Failed { editor: String, status: ExitStatus },
    #[error(transparent)]
    File(#[from] io::Error),
}

/// Lets the user change `text` in an editor, which controls the terminal meanwhile.
pub(super) async fn edit(text: &str) -> Result<String, EditError> {
    let variable = |name| {
        std::env::var(name)
            .ok()
            .filter(|value: &String| !value.is_empty())
    };
    let editor = variable("VISUAL")
        .or_else(|| variable("EDITOR"))
        .ok_or(EditError::NoEditor)?;
    let directory = zot_files::ScratchDirectory::new(zot_files::Scratch::Edit)?;
    let path = directory.path().join("prompt.md");
    fs::write(&path, text)?;
    // The variable may hold arguments, which a shell splits.
    let status = Command::new("sh")
        .arg("-c")
        .arg(format!("{editor} \"$1\""))
        .arg("sh")
        .arg(&path)
        .status()
        .await?;
    match status.success() {
        true => Ok(fs::read_to_string(&path)?),
        false => Err(EditError::Failed { editor, status }),
    }
}
