//! Copies the directory of an extension, refusing anything that leads out of it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use crate::store::StoreError;

/// The set-user-ID, set-group-ID and sticky bits, which a copy must not carry over.
const SPECIAL_MODE_BITS: u32 = 0o7000;

/// Without these the copied directory could neither be filled nor removed.
const OWNER_ALL: u32 = 0o700;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) files: usize,
}

/// Copies `source` to `target`, which must not exist, without `.git`. `source` must be canonical.
/// Yields between files so that the caller can be interrupted.
pub(crate) async fn copy_directory(source: &Path, target: &Path) -> Result<Copied, StoreError> {
    let mut copied = Copied::default();
    let mut directories = vec![(source.to_owned(), target.to_owned())];
    while let Some((from, to)) = directories.pop() {
        fs::create_dir(&to).map_err(StoreError::io(&to))?;
        let mode = fs::metadata(&from)
            .map_err(StoreError::io(&from))?
            .permissions()
            .mode();
        set_mode(&to, mode | OWNER_ALL)?;
        for entry in fs::read_dir(&from).map_err(StoreError::io(&from))? {
            let entry = entry.map_err(StoreError::io(&from))?;
            let (path, name) = (entry.path(), entry.file_name());
            if name == ".git" {
                continue;
            }
            let kind = entry.file_type().map_err(StoreError::io(&path))?;
            let target = to.join(&name);
            if kind.is_dir() {
                directories.push((path, target));
            } else if kind.is_symlink() {
                copy_link(source, &path, &target)?;
            } else if kind.is_file() {
                // A named pipe may have replaced it meanwhile.
                let mut file = zot_files::open_itself(&path, OpenOptions::new().read(true))
                    .map_err(StoreError::io(&path))?;
                let mode = file.metadata().map_err(StoreError::io(&path))?;
                File::create_new(&target)
                    .and_then(|mut copy| io::copy(&mut file, &mut copy))
                    .map_err(StoreError::io(&path))?;
                set_mode(&target, mode.permissions().mode())?;
                copied.files += 1;
            } else {
                return Err(StoreError::SpecialFile(path));
            }
            tokio::task::yield_now().await;
        }
    }
    Ok(copied)
}

fn set_mode(path: &Path, mode: u32) -> Result<(), StoreError> {
    let permissions = fs::Permissions::from_mode(mode & 0o7777 & !SPECIAL_MODE_BITS);
    fs::set_permissions(path, permissions).map_err(StoreError::io(path))
}

fn copy_link(root: &Path, link: &Path, copy: &Path) -> Result<(), StoreError> {
    let target = fs::read_link(link).map_err(StoreError::io(link))?;
    let (link, leaves) = (link.to_owned(), leaves(root, link, &target));
    if leaves {
        return Err(StoreError::LinkLeavesDirectory { link, target });
    }
    // The text of the path is not enough: `..` after a link goes up from the link's target.
    match fs::canonicalize(&link) {
        Ok(real) if real.starts_with(root) => {}
        Ok(_) => return Err(StoreError::LinkLeavesDirectory { link, target }),
        Err(_) => return Err(StoreError::LinkIsBroken { link, target }),
    }
    symlink(&target, copy).map_err(StoreError::io(copy))
}

/// Returns whether the text of `target`, relative to `link`, leads out of `root`.
fn leaves(root: &Path, link: &Path, target: &Path) -> bool {
    // An absolute link into the directory would still lead to the original after copying.
    if target.is_absolute() {
        return true;
    }
    let start = link
        .parent()
        .and_then(|parent| parent.strip_prefix(root).ok());
    let mut depth = start.map_or(0, |start: &Path| start.components().count());
    for component in PathBuf::from(target).components() {
        match component {
            Component::ParentDir if depth == 0 => return true,
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    false
}
