//! File access rules (Landlock).

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictSelf, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::launch::programs::Needs;
use crate::launch::{ConfineError, Execution, FileAccess, Status};

/// The newest version in use, which is the newest one tested.
const NEWEST_ABI: ABI = ABI::V7;

/// What every program may read.
pub(crate) const READABLE: [&str; 21] = [
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/etc",
    "/opt",
    "/nix/store",
    "/home/linuxbrew/.linuxbrew",
    // Landlock hides the environment and memory of other processes.
    "/proc",
    // Runtimes read these to size their heaps and thread pools.
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    // The target of `/etc/resolv.conf`.
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What every program may write to. No terminal: a program could inject commands into it.
const WRITABLE: [&str; 1] = ["/dev/null"];

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

const DEVICES: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | WriteFile | IoctlDev});

const EXECUTE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute});

/// Without creating devices, through which a privileged child could reach the whole disk.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate | RemoveFile | RemoveDir | MakeReg | MakeDir
        | MakeSym | MakeFifo | MakeSock | Refer
});

/// Returns the version of Landlock in this kernel; the error is the reason why there is none.
pub(super) fn landlock_abi() -> Result<ABI, String> {
    static RESULT: OnceLock<Result<ABI, String>> = OnceLock::new();
    RESULT.get_or_init(query_abi).clone()
}

fn query_abi() -> Result<ABI, String> {
    // Without flags this restricts nothing; it is how the crate queries the version.
    let queried = RestrictSelf::default().no_new_privs(false).apply();
    match queried.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi),
        Ok(LandlockStatus::NotEnabled) => Err(
            "Landlock is disabled in this kernel; the boot parameter `lsm=` enables it".to_owned(),
        ),
        Ok(LandlockStatus::NotImplemented) | Err(_) => {
            Err("this kernel has no Landlock (Linux 5.13 and later have it)".to_owned())
        }
    }
}

/// Restrictions on files that other means enforce.
#[derive(Clone, Copy)]
pub(super) struct OtherRestrictions {
    pub(super) sockets: bool,
    pub(super) privileges: bool,
    /// Modes, owners and times.
    pub(super) attributes: bool,
}

/// Reports how well `abi` restricts a child to its files.
pub(super) fn status(abi: Result<ABI, String>, others: OtherRestrictions) -> Status {
    let abi = match abi {
        Ok(abi) => abi,
        Err(reason) => return Status::NotEnforced(reason),
    };
    let mut gaps = Vec::new();
    if abi < ABI::V3 {
        gaps.push("any file can be truncated (fixed in Linux 6.2)");
    }
    if abi < ABI::V5 {
        gaps.push("devices it may open accept every ioctl (fixed in Linux 6.10)");
    }
    if !others.sockets {
        gaps.push("services can be asked for other files through Unix sockets");
    }
    if !others.privileges {
        gaps.push("the privileges of root are kept");
    }
    if !others.attributes {
        gaps.push("modes, owners and times of any file can be changed");
    }
    if gaps.is_empty() {
        Status::Enforced
    } else {
        Status::Partly(gaps.join("; "))
    }
}

/// Reports how well `abi` restricts a child to its programs.
pub(super) fn execution_status(abi: Result<ABI, String>, has_filters: bool) -> Status {
    match (abi, has_filters) {
        (Ok(_), true) => Status::Enforced,
        (Ok(_), false) => Status::Partly("programs in memory can be started".to_owned()),
        (Err(reason), _) => Status::NotEnforced(reason),
    }
}

/// Reports how well a child is kept from other processes.
pub(super) fn processes_status(
    abi: Result<ABI, String>,
    has_namespaces: bool,
    has_filters: bool,
) -> Status {
    let abi = match abi {
        Ok(_) if has_namespaces => return Status::Enforced,
        Ok(abi) => abi,
        Err(reason) => return Status::NotEnforced(reason),
    };
    let mut gaps = Vec::new();
    if abi < ABI::V6 {
        gaps.push("they can be signalled (fixed in Linux 6.12)");
    }
    if !has_filters {
        gaps.push("their limits and priorities can be changed");
    }
    match gaps.is_empty() {
        true => Status::Enforced,
        false => Status::Partly(gaps.join("; ")),
    }
}

/// Creates the rules that the child will apply to itself.
///
/// In a view, `/proc` is another one, for which the child adds its own rule.
pub(super) fn ruleset(
    access: &FileAccess,
    needs: &Needs,
    root: Option<&Path>,
) -> Result<RulesetCreated, ConfineError> {
    let mut handled = AccessFs::from_all(NEWEST_ABI);
    let execute = match access.execute {
        Execution::Anything => {
            handled.remove(AccessFs::Execute);
            READ
        }
        Execution::Only(_) => EXECUTE,
    };
    let mut ruleset = Ruleset::default()
        .handle_access(handled)
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST_ABI)))
        .and_then(Ruleset::create)
        .map_err(refused)?;

    match root {
        // A view shows nothing but what may be read. Every command mounts another `/proc` in it, which
        // no rule could name beforehand.
        Some(root) => {
            allow_if_present(&mut ruleset, root, READ)?;
            // The harmless devices, and pseudo-terminals that are the view's own.
            allow_if_present(&mut ruleset, &root.join("dev"), DEVICES)?;
        }
        None => allow_reading(&mut ruleset, access, needs)?,
    }
    for path in &needs.execute {
        // Their paths had no links when they were found, and may have been replaced since.
        if let Ok(opened) = open_exactly(path) {
            allow(&mut ruleset, opened, execute)?;
        }
    }
    for path in WRITABLE {
        allow_if_present(&mut ruleset, Path::new(path), WRITE)?;
    }
    for path in &access.write {
        let opened = open_exactly(path).map_err(|source| ConfineError::Writable {
            path: path.clone(),
            source,
        })?;
        allow(&mut ruleset, opened, WRITE)?;
    }
    Ok(ruleset)
}

fn allow_reading(
    ruleset: &mut RulesetCreated,
    access: &FileAccess,
    needs: &Needs,
) -> Result<(), ConfineError> {
    let readable = READABLE.iter().map(Path::new);
    for path in readable.chain(paths(&needs.read)) {
        allow_if_present(ruleset, path, READ)?;
    }
    for path in &access.read {
        if let Ok(opened) = open_exactly(path) {
            allow(ruleset, opened, READ)?;
        }
    }
    Ok(())
}

/// Opens `path` and refuses links anywhere in it, because the creator of a link would decide what is
/// allowed.
fn open_exactly(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Some containers block the call.
        Err(Errno::NOSYS | Errno::PERM) => {}
        opened => return Ok(opened?),
    }
    let opened = rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())?;
    let name = std::fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd()))?;
    if name == std::path::absolute(path)?.components().collect::<PathBuf>() {
        Ok(opened)
    } else {
        Err(Errno::LOOP.into())
    }
}

fn paths(paths: &[PathBuf]) -> impl Iterator<Item = &Path> {
    paths.iter().map(PathBuf::as_path)
}

fn allow_if_present(
    ruleset: &mut RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<(), ConfineError> {
    match PathFd::new(path) {
        Ok(opened) => allow(ruleset, opened, access),
        // The child cannot open it either.
        Err(_) => Ok(()),
    }
}

fn allow(
    ruleset: &mut RulesetCreated,
    opened: impl AsFd,
    mut access: BitFlags<AccessFs>,
) -> Result<(), ConfineError> {
    let stat = rustix::fs::fstat(opened.as_fd())
        .map_err(|error| ConfineError::FileRules(io::Error::from(error)))?;
    if !rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir() {
        access &= AccessFs::from_file(NEWEST_ABI);
    }
    ruleset
        .add_rule(PathBeneath::new(opened, access))
        .map_err(refused)?;
    Ok(())
}

fn refused(error: RulesetError) -> ConfineError {
    ConfineError::FileRules(io::Error::from_raw_os_error(*landlock::Errno::from(error)))
}
