//! The view of a sandbox: a file system with nothing in it but what was planned, and if wanted a network
//! of its own. It is made once, by a process that does nothing else, and lives as long as its
//! descriptors; every command of the sandbox joins it.

use std::ffi::{CStr, CString};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Mutex;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, fstat, openat, openat2};
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags, UnmountFlags,
    fsconfig_create, fsconfig_set_flag, fsconfig_set_string, fsmount, fsopen, mount_change,
    unmount,
};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, bind, listen, recvmsg, sendmsg,
    socket_with,
};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space};

use super::namespaces::{self, Users, c_string, make_private};
use crate::launch::{PlannedMount, ViewPlan};
use crate::raw;

/// How many connections may wait until the proxy accepts them.
///
/// Limit: further connections of a confined program wait in its own system call.
const PROXY_BACKLOG: i32 = 128;

/// How many pseudo-terminals the commands of a view may have open.
///
/// Limit: opening another one fails.
const MAX_TERMINALS: u64 = 256;

/// The most descriptors that a view has.
const MAX_VIEW_DESCRIPTORS: usize = 4;

/// The namespaces that commands of a sandbox share.
#[derive(Debug)]
pub(crate) struct View {
    user: Option<OwnedFd>,
    mounts: OwnedFd,
    network: Option<OwnedFd>,
    /// Listens inside of the network, until it is taken.
    listener: Mutex<Option<TcpListener>>,
}

impl View {
    /// Makes what `plan` says. Its mount points exist.
    pub(crate) fn new(plan: &ViewPlan) -> io::Result<Self> {
        let means = namespaces::available().map_err(io::Error::other)?;
        let mut builder = Builder::new(Users::of(means), plan)?;
        let (receiver, sender) = UnixStream::pair()?;
        raw::probe(|| builder.build(&sender))?;
        drop(sender);
        let mut descriptors = receive(&receiver)?.into_iter();
        let mut next = || descriptors.next().ok_or(io::ErrorKind::UnexpectedEof);
        let user = match builder.users.are_mapped() {
            true => Some(next()?),
            false => None,
        };
        let mounts = next()?;
        let (network, listener) = match plan.has_own_network {
            true => (Some(next()?), Some(TcpListener::from(next()?))),
            false => (None, None),
        };
        Ok(Self {
            user,
            mounts,
            network,
            listener: Mutex::new(listener),
        })
    }

    pub(super) fn changes_user(&self) -> bool {
        self.user.is_some()
    }

    pub(super) fn has_own_network(&self) -> bool {
        self.network.is_some()
    }

    /// Returns the socket that listens inside of the view's network, the first time.
    pub(crate) fn take_listener(&self) -> Option<TcpListener> {
        self.listener.lock().ok()?.take()
    }

    /// Moves this process into the view. System calls only.
    pub(super) fn enter(&self) -> rustix::io::Result<()> {
        if let Some(user) = &self.user {
            move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))?;
        }
        if let Some(network) = &self.network {
            move_into_link_name_space(network.as_fd(), Some(LinkNameSpaceType::Network))?;
        }
        move_into_link_name_space(self.mounts.as_fd(), Some(LinkNameSpaceType::Mount))
    }
}

/// Everything that the process which makes a view needs, so that it allocates nothing.
struct Builder {
    users: Users,
    root: CString,
    mounts: Vec<Mount>,
    terminals: Option<Terminals>,
    has_own_network: bool,
}

struct Mount {
    source: CString,
    /// Device and inode of the source, to detect a replacement.
    identity: (u64, u64),
    /// Below the directory that becomes the root.
    target: CString,
    attributes: u64,
    /// Preferred to a copy of the mount.
    overlay: Option<Overlay>,
}

impl Mount {
    fn is_read_only(&self) -> bool {
        self.attributes & libc::MOUNT_ATTR_RDONLY != 0
    }
}

impl Builder {
    fn new(users: Users, plan: &ViewPlan) -> io::Result<Self> {
        let are_mapped = users.are_mapped();
        let mount = |planned: &PlannedMount| {
            let metadata = std::fs::symlink_metadata(&planned.source)?;
            let inside = planned.target.strip_prefix("/").unwrap_or(&planned.target);
            let mut attributes = libc::MOUNT_ATTR_NOSUID;
            if !planned.is_writable {
                attributes |= libc::MOUNT_ATTR_RDONLY;
            }
            if !planned.target.starts_with("/dev") {
                attributes |= libc::MOUNT_ATTR_NODEV;
            }
            Ok(Mount {
                source: c_string(&planned.source)?,
                identity: (metadata.dev(), metadata.ino()),
                target: c_string(&plan.root.join(inside))?,
                attributes,
                overlay: planned
                    .changes
                    .as_ref()
                    .and_then(|changes| Overlay::new(&planned.source, changes, are_mapped)),
            })
        };
        Ok(Self {
            users,
            root: c_string(&plan.root)?,
            mounts: plan.mounts.iter().map(mount).collect::<io::Result<_>>()?,
            terminals: plan.terminals.as_deref().map(Terminals::at).transpose()?,
            has_own_network: plan.has_own_network,
        })
    }

    /// Makes the namespaces and sends their descriptors. Runs in a process of its own, system calls only.
    fn build(&mut self, sender: &UnixStream) -> rustix::io::Result<()> {
        let network = match self.has_own_network {
            true => UnshareFlags::NEWNET,
            false => UnshareFlags::empty(),
        };
        self.users.enter(UnshareFlags::NEWNS | network)?;
        make_private()?;
        self.mount_root()?;
        // Opened before the old root is gone: the new one may show another `/proc`.
        let (user, mounts, net) = (
            open_namespace(c"/proc/self/ns/user")?,
            open_namespace(c"/proc/self/ns/mnt")?,
            open_namespace(c"/proc/self/ns/net")?,
        );
        rustix::process::chdir(&*self.root)?;
        rustix::process::pivot_root(c".", c".")?;
        unmount(c".", UnmountFlags::DETACH)?;
        // What is mounted outside from now on would come without our restrictions.
        let propagation = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change(c"/", propagation)?;
        let mounts = mounts.as_fd();
        let are_mapped = self.users.are_mapped();
        if !self.has_own_network {
            return match are_mapped {
                true => send(sender, &[user.as_fd(), mounts]),
                false => send(sender, &[mounts]),
            };
        }
        raw::start_loopback()?;
        let listener = listen_inside()?;
        let (net, listener) = (net.as_fd(), listener.as_fd());
        match are_mapped {
            true => send(sender, &[user.as_fd(), mounts, net, listener]),
            false => send(sender, &[mounts, net, listener]),
        }
    }

    fn mount_root(&self) -> rustix::io::Result<()> {
        let directory = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let bare = openat(CWD, &*self.root, directory, Mode::empty())?;
        raw::attach(&raw::copy_mounts(&bare)?, &bare)?;
        let root = openat(CWD, &*self.root, directory, Mode::empty())?;
        for mount in &self.mounts {
            let source = match open_exactly(&mount.source) {
                // What a link leads to is not what was allowed.
                Err(Errno::LOOP | Errno::NOENT) if mount.is_read_only() => continue,
                source => source?,
            };
            let stat = fstat(&source)?;
            if (stat.st_dev, stat.st_ino) != mount.identity {
                // It was replaced after it had been allowed.
                return Err(Errno::STALE);
            }
            let target = open_exactly(&mount.target)?;
            // Where the kernel or the file system cannot do it, there is a read-only copy.
            if let Some(overlay) = &mount.overlay
                && let Ok(made) = overlay.mount(&mount.source)
            {
                raw::attach(&made, &target)?;
                continue;
            }
            let copy = raw::copy_mounts(&source)?;
            raw::restrict_mounts(&copy, mount.attributes)?;
            raw::attach(&copy, &target)?;
        }
        if let Some(terminals) = &self.terminals {
            // Programs that need one say so where the kernel has none.
            let _ = terminals.mount();
        }
        raw::restrict_mount(&root, libc::MOUNT_ATTR_RDONLY)
    }
}

/// Pseudo-terminals that have nothing to do with those of the user.
struct Terminals {
    path: CString,
    /// [`MAX_TERMINALS`] as text for the kernel.
    most: CString,
}

impl Terminals {
    fn at(path: &Path) -> io::Result<Self> {
        Ok(Self {
            path: c_string(path)?,
            most: CString::new(MAX_TERMINALS.to_string())?,
        })
    }

    fn mount(&self) -> rustix::io::Result<()> {
        let terminals = fsopen(c"devpts", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(terminals.as_fd(), c"ptmxmode", c"0666")?;
        fsconfig_set_string(terminals.as_fd(), c"mode", c"0620")?;
        fsconfig_set_string(terminals.as_fd(), c"max", &*self.most)?;
        fsconfig_create(terminals.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NOEXEC;
        let made = fsmount(terminals.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        raw::attach(&made, &open_exactly(&self.path)?)
    }
}

/// Where the changes of an overlay are kept.
struct Overlay {
    upper: CString,
    work: CString,
    in_user_namespace: bool,
}

impl Overlay {
    /// Returns `None` if the path of `source` cannot be written as an option.
    fn new(source: &Path, changes: &Path, in_user_namespace: bool) -> Option<Self> {
        let source = source.as_os_str().as_bytes();
        if source.iter().any(|byte| b":\\".contains(byte)) {
            return None;
        }
        Some(Self {
            upper: c_string(&changes.join("upper")).ok()?,
            work: c_string(&changes.join("work")).ok()?,
            in_user_namespace,
        })
    }

    /// Makes an overlay over `source`, mounted nowhere.
    fn mount(&self, source: &CStr) -> rustix::io::Result<OwnedFd> {
        let overlay = fsopen(c"overlay", FsOpenFlags::FSOPEN_CLOEXEC)?;
        fsconfig_set_string(overlay.as_fd(), c"lowerdir", source)?;
        fsconfig_set_string(overlay.as_fd(), c"upperdir", &*self.upper)?;
        fsconfig_set_string(overlay.as_fd(), c"workdir", &*self.work)?;
        if self.in_user_namespace {
            fsconfig_set_flag(overlay.as_fd(), c"userxattr")?;
        }
        fsconfig_create(overlay.as_fd())?;
        let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
        fsmount(overlay.as_fd(), FsMountFlags::FSMOUNT_CLOEXEC, attributes)
    }
}

/// Opens a path that has no links.
fn open_exactly(path: &CStr) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}

fn open_namespace(path: &CStr) -> rustix::io::Result<OwnedFd> {
    openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Listens on a free port of the new network's loopback address.
fn listen_inside() -> rustix::io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC;
    let listener = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    let address = std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0);
    bind(&listener, &address)?;
    listen(&listener, PROXY_BACKLOG)?;
    Ok(listener)
}

fn send(
    sender: &UnixStream,
    descriptors: &[std::os::fd::BorrowedFd<'_>],
) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_VIEW_DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(Errno::NOBUFS);
    }
    let byte = [IoSlice::new(b"v")];
    sendmsg(sender, &byte, &mut ancillary, SendFlags::NOSIGNAL).map(|_| ())
}

fn receive(receiver: &UnixStream) -> io::Result<Vec<OwnedFd>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_VIEW_DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let mut slices = [IoSliceMut::new(&mut byte)];
    recvmsg(
        receiver,
        &mut slices,
        &mut ancillary,
        RecvFlags::CMSG_CLOEXEC,
    )?;
    let mut received = Vec::with_capacity(MAX_VIEW_DESCRIPTORS);
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            received.extend(descriptors);
        }
    }
    Ok(received)
}
