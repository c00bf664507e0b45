//! Landlock: which files a child may use.

use std::io;
use std::os::fd::{AsFd, AsRawFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, BitFlags, LandlockStatus, PathBeneath, PathFd, RestrictSelf, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope, make_bitflags,
};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use crate::launch::programs::Needs;
use crate::launch::{ConfineError, Execution, FileAccess, Status};

/// The newest version whose restrictions are asked for: the newest they were tested with.
const NEWEST_ABI: ABI = ABI::V7;

/// What any program may read.
const READABLE: [&str; 21] = [
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
    // Other processes' environment and memory are not among it: Landlock hides them.
    "/proc",
    // Runtimes size their heaps and thread pools by these.
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    // Where `/etc/resolv.conf` leads to.
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// What any program may write to. No terminal: it could be made to type commands.
const WRITABLE: [&str; 1] = ["/dev/null"];

const READ: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | ReadDir});

const EXECUTE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{ReadFile | Execute});

/// Devices cannot be made: a privileged child would reach the disk behind the files.
const WRITE: BitFlags<AccessFs> = make_bitflags!(AccessFs::{
    ReadFile | ReadDir | WriteFile | Truncate | RemoveFile | RemoveDir | MakeReg | MakeDir
        | MakeSym | MakeFifo | MakeSock | Refer
});

/// The version of Landlock in this kernel, or why there is none.
pub(super) fn landlock_abi() -> Result<ABI, String> {
    // Without flags this restricts nothing: it is the crate's way to ask.
    let asked = RestrictSelf::default().no_new_privs(false).apply();
    match asked.map(|answer| answer.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) => Ok(effective_abi),
        Ok(LandlockStatus::NotEnabled) => Err(
            "Landlock is switched off in this kernel; its boot parameter `lsm=` switches it on"
                .to_owned(),
        ),
        Ok(LandlockStatus::NotImplemented) | Err(_) => {
            Err("this kernel has no Landlock; Linux has it since 5.13".to_owned())
        }
    }
}

/// What bears on files and is held by other means.
#[derive(Clone, Copy)]
pub(super) struct AlsoHeld {
    pub(super) sockets: bool,
    pub(super) privileges: bool,
    /// Modes, owners and times.
    pub(super) attributes: bool,
}

/// How well `abi` keeps a child to its files.
pub(super) fn status(abi: Result<ABI, String>, held: AlsoHeld) -> Status {
    let abi = match abi {
        Ok(abi) => abi,
        Err(reason) => return Status::NotEnforced(reason),
    };
    let mut gaps = Vec::new();
    if abi < ABI::V3 {
        gaps.push("any file can be truncated (not since Linux 6.2)");
    }
    if abi < ABI::V5 {
        gaps.push("devices it may open take every ioctl (not since Linux 6.10)");
    }
    if !held.sockets {
        gaps.push("services can be asked for other files over Unix sockets");
    }
    if !held.privileges {
        gaps.push("the privileges of root are kept");
    }
    if !held.attributes {
        gaps.push("modes, owners and times of any file can be changed");
    }
    if gaps.is_empty() {
        Status::Enforced
    } else {
        Status::Partly(gaps.join("; "))
    }
}

/// How well `abi` keeps a child to its programs.
pub(super) fn execution_status(abi: Result<ABI, String>, has_filters: bool) -> Status {
    match (abi, has_filters) {
        (Ok(_), true) => Status::Enforced,
        (Ok(_), false) => Status::Partly("programs in memory can be started".to_owned()),
        (Err(reason), _) => Status::NotEnforced(reason),
    }
}

/// How well a child is kept from processes that are not its own.
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
        gaps.push("they can be signalled (not since Linux 6.12)");
    }
    if !has_filters {
        gaps.push("their limits and priorities can be changed");
    }
    match gaps.is_empty() {
        true => Status::Enforced,
        false => Status::Partly(gaps.join("; ")),
    }
}

/// The rules, as the kernel will take them from the child.
pub(super) fn ruleset(access: &FileAccess, needs: &Needs) -> Result<RulesetCreated, ConfineError> {
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

    let readable = READABLE.iter().map(Path::new);
    for path in readable.chain(paths(&needs.read)) {
        allow_if_there(&mut ruleset, path, READ)?;
    }
    for path in &access.read {
        if let Ok(opened) = open_exactly(path) {
            allow(&mut ruleset, opened, READ)?;
        }
    }
    for path in &needs.execute {
        // They were found without links, and may have been replaced since.
        if let Ok(opened) = open_exactly(path) {
            allow(&mut ruleset, opened, execute)?;
        }
    }
    for path in WRITABLE {
        allow_if_there(&mut ruleset, Path::new(path), WRITE)?;
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

/// Opens what `path` itself names: a link anywhere in it is an error, because whoever made it would
/// decide what is allowed.
fn open_exactly(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // Some containers filter the call.
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

fn allow_if_there(
    ruleset: &mut RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<(), ConfineError> {
    match PathFd::new(path) {
        Ok(opened) => allow(ruleset, opened, access),
        // What cannot be opened here cannot be opened by the child.
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
