//! `zot ext new`: something that works, to start from.

mod skeleton;

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use zot_sdk::extensions::check_name;
use zot_sdk::extensions::store::StoreError;

use super::Language;
use crate::failure::Failure;
use crate::output::say;
use skeleton::{Mode, Skeleton};

const PROGRAM_MODE: u32 = 0o755;

pub(super) fn run(
    name: &str,
    language: Language,
    directory: Option<PathBuf>,
) -> Result<ExitCode, Failure> {
    check_name(name).map_err(StoreError::from)?;
    let directory = directory.unwrap_or_else(|| PathBuf::from(name));
    let shown = directory.display();
    let failed = |error: io::Error| Failure::Refused(format!("{shown}: {error}"));
    if let Some(parent) = directory.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    // Fails when there is anything of that name.
    match fs::create_dir(&directory) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(Failure::Refused(format!(
                "{shown} exists already: choose another name, or another directory with --dir"
            )));
        }
        made => made.map_err(failed)?,
    }
    let skeleton = Skeleton::new(name, language);
    if let Err(error) = write(&skeleton, &directory) {
        let _ = fs::remove_dir_all(&directory);
        return Err(failed(error));
    }
    say(format_args!("{name} is in {shown}. Next:"))?;
    for step in skeleton.next_steps() {
        say(format_args!(
            "  {}",
            step.replace("DIR", &shown.to_string())
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(skeleton: &Skeleton, directory: &Path) -> io::Result<()> {
    for (path, text, mode) in skeleton.files() {
        let path = directory.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, text)?;
        if mode == Mode::Program {
            fs::set_permissions(&path, fs::Permissions::from_mode(PROGRAM_MODE))?;
        }
    }
    Ok(())
}
