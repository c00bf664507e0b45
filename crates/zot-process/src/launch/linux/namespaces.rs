//! Whether namespaces can be had, and how a command joins those of its view.

use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind, mount_change, mount_remount,
};
use rustix::process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, UnshareFlags, capabilities};

use super::view::View;
use crate::launch::{Guard, Guarded};
use crate::raw;

/// How namespaces can be created here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Means {
    /// With our own privileges.
    Privileged,
    /// In a user namespace that maps only our own user.
    UserNamespace,
}

/// The namespaces of each command, beside those of its view. Memory, queues and semaphores of System V are
/// among them, because they last until their namespace ends.
const OWN: UnshareFlags = UnshareFlags::NEWPID.union(UnshareFlags::NEWIPC);

/// Files of `/proc` that are about the whole machine, and that a command finds empty: names of the keys of
/// all its users, and for root the use of each page of memory.
const MASKED: [&CStr; 4] = [
    c"/proc/keys",
    c"/proc/kpagecount",
    c"/proc/kpageflags",
    c"/proc/kpagecgroup",
];

/// How `/proc` is mounted.
const PROC_FLAGS: MountFlags = MountFlags::NOSUID
    .union(MountFlags::NODEV)
    .union(MountFlags::NOEXEC)
    .union(MountFlags::RDONLY);

/// What a limit of processes must exceed in `pid_max`: numbers that the kernel gives only once.
const RESERVED_NUMBERS: u64 = 300;

/// The highest `pid_max` that the kernel accepts.
const HIGHEST_NUMBER: u64 = 4 << 20;

/// Returns how namespaces can be had; the error is the reason why not. Tried once, in a separate process.
pub(crate) fn available() -> Result<Means, String> {
    static RESULT: OnceLock<Result<Means, String>> = OnceLock::new();
    RESULT.get_or_init(probe).clone()
}

fn probe() -> Result<Means, String> {
    let is_privileged =
        capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN));
    let mut means = vec![Means::UserNamespace];
    if is_privileged {
        means.insert(0, Means::Privileged);
    }
    let mut refusal = Errno::PERM;
    for means in means {
        let users = Users::of(means);
        let attempt = || {
            users.enter(OWN | UnshareFlags::NEWNS | UnshareFlags::NEWNET)?;
            make_private()
        };
        match raw::probe(attempt) {
            Ok(()) => return Ok(means),
            Err(error) => refusal = error,
        }
    }
    Err(format!(
        "this system refuses namespaces ({})",
        io::Error::from(refusal)
    ))
}

/// Returns whether a command sees the processes of the whole machine in spite of its PID namespace, because
/// `/proc` cannot be mounted again. Tried once, in a separate process.
pub(crate) fn shows_other_processes() -> bool {
    static RESULT: OnceLock<bool> = OnceLock::new();
    *RESULT.get_or_init(|| {
        let Ok(means) = available() else {
            return false;
        };
        let users = Users::of(means);
        let attempt = || {
            users.enter(OWN | UnshareFlags::NEWNS)?;
            make_private()?;
            // Only a process inside of the new PID namespace can.
            raw::probe(|| mount_processes(PROC_FLAGS))
        };
        raw::probe(attempt).is_err()
    })
}

fn mount_processes(flags: MountFlags) -> rustix::io::Result<()> {
    mount(c"proc", c"/proc", c"proc", flags, None)
}

/// The content of `/proc/self/uid_map` and `gid_map`; `None` without a user namespace.
pub(super) struct Users(Option<(String, String)>);

impl Users {
    pub(super) fn of(means: Means) -> Self {
        Self((means == Means::UserNamespace).then(|| {
            let (user, group) = (geteuid().as_raw(), getegid().as_raw());
            (format!("{user} {user} 1"), format!("{group} {group} 1"))
        }))
    }

    pub(super) fn are_mapped(&self) -> bool {
        self.0.is_some()
    }

    /// Moves this process to new namespaces, and to a user namespace if one is needed.
    pub(super) fn enter(&self, namespaces: UnshareFlags) -> rustix::io::Result<()> {
        let Some((users, groups)) = &self.0 else {
            return raw::unshare(namespaces);
        };
        // Files in `/proc` of a process that cannot be dumped belong to root.
        set_dumpable_behavior(DumpableBehavior::Dumpable)?;
        raw::unshare(UnshareFlags::NEWUSER | namespaces)?;
        let written = write_to(c"/proc/self/setgroups", b"deny")
            .and_then(|()| write_to(c"/proc/self/uid_map", users.as_bytes()))
            .and_then(|()| write_to(c"/proc/self/gid_map", groups.as_bytes()));
        set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
        written
    }
}

/// Keeps our mounts to ourselves; unmounts of the system still reach us.
pub(super) fn make_private() -> rustix::io::Result<()> {
    let propagation = MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    mount_change(c"/", propagation)
}

/// How one command joins its view, prepared in the parent.
pub(super) struct Joining {
    view: Arc<View>,
    /// The directory of the child, which it must enter again: its current one is on the old mount.
    directory: CString,
    guards: Vec<Guarded>,
    masked: &'static [&'static CStr],
    /// The content of `pid_max`, where it limits the processes of the command.
    highest_number: Option<String>,
}

impl Joining {
    pub(super) fn new(
        view: Arc<View>,
        directory: &Path,
        guarded: &[Guarded],
        processes: Option<u64>,
    ) -> io::Result<Self> {
        let is_root = geteuid().is_root();
        let limit = processes.filter(|_| is_root && can_limit_root());
        Ok(Self {
            view,
            directory: c_string(&std::path::absolute(directory)?)?,
            guards: guarded.to_vec(),
            // Others cannot open the rest.
            masked: match is_root {
                true => &MASKED,
                false => &MASKED[..1],
            },
            highest_number: limit.map(highest_number),
        })
    }

    /// Returns whether a user namespace is among them.
    pub(super) fn changes_user(&self) -> bool {
        self.view.changes_user()
    }

    /// Moves this process to the view; the next child is the first in a PID namespace.
    pub(super) fn prepare_fork(&self) -> rustix::io::Result<()> {
        self.view.enter()?;
        raw::unshare(OWN)
    }

    /// Gives this process, the first of its PID namespace, its own `/proc` and guards.
    pub(super) fn mount(&self) -> rustix::io::Result<()> {
        raw::unshare(UnshareFlags::NEWNS)?;
        for guard in &self.guards {
            mount_guard(guard)?;
        }
        // Fails where parts of `/proc` are covered, as in containers: see `shows_other_processes`. The old
        // one stays, read-only, because most programs do not work without any.
        let writable = PROC_FLAGS.difference(MountFlags::RDONLY);
        match &self.highest_number {
            Some(number) if mount_processes(writable).is_ok() => {
                let written = write_to(c"/proc/sys/kernel/pid_max", number.as_bytes());
                mount_remount(c"/proc", MountFlags::BIND | PROC_FLAGS, c"")?;
                written?;
            }
            _ => drop(mount_processes(PROC_FLAGS)),
        }
        for path in self.masked {
            // Not every kernel has each of them. They are no reason to run nothing at all.
            let _ = mount_bind(c"/dev/null", *path);
        }
        // If this fails, so does every use of a relative path in the child.
        let _ = rustix::process::chdir(&*self.directory);
        Ok(())
    }
}

/// Returns the content of `pid_max` for a limit of processes.
fn highest_number(limit: u64) -> String {
    let number = limit.saturating_add(RESERVED_NUMBERS);
    number.min(HIGHEST_NUMBER).to_string()
}

/// Returns whether the processes of root can be limited: `RLIMIT_NPROC`, which limits everybody else, does
/// not, and before Linux 6.14 `pid_max` is that of the whole machine.
pub(crate) fn can_limit_root() -> bool {
    let system = rustix::system::uname();
    let release = system.release().to_string_lossy();
    let mut numbers = release
        .split(['.', '-'])
        .map_while(|part| part.parse::<u32>().ok());
    (numbers.next(), numbers.next()) >= (Some(6), Some(14))
}

/// Mounts the path on itself: mount points can be neither renamed nor removed. Fails if another file is
/// there than was found.
fn mount_guard(guarded: &Guarded) -> rustix::io::Result<()> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let links = ResolveFlags::NO_SYMLINKS;
    let target = openat2(CWD, &*guarded.path, flags, Mode::empty(), links)?;
    let stat = fstat(&target)?;
    if (stat.st_dev, stat.st_ino) != guarded.identity {
        return Err(Errno::STALE);
    }
    if guarded.guard == Guard::None {
        return Ok(());
    }
    let copy = raw::copy_mounts(&target)?;
    if guarded.guard == Guard::ReadOnly {
        raw::restrict_mounts(&copy, libc::MOUNT_ATTR_RDONLY)?;
    }
    raw::attach(&copy, &target)
}

pub(super) fn write_to(path: &CStr, bytes: &[u8]) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(CWD, path, flags, Mode::empty())?;
    rustix::io::write(&file, bytes).map(|_| ())
}

pub(super) fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from)
}
