//! What a confined child cannot do to processes and files that are not its own.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::process::Command;

use testkit::{KernelFeature, skip, skip_without};

use super::{Confinement, enforceable, has_landlock, installed, output, shell, succeeds, writing};
use crate::launch::{Status, isolation};

/// Returns whether other processes and attributes of files are protected here.
fn is_isolated() -> bool {
    if !has_landlock() {
        return false;
    }
    let enforcement = enforceable();
    if enforcement.processes != Status::Enforced {
        skip_without(KernelFeature::Seccomp, &isolation());
        return false;
    }
    true
}

fn has_namespaces() -> bool {
    let has = is_isolated() && isolation().starts_with("namespaces");
    // Namespaces that were disabled on purpose are not a missing feature.
    if !has && std::env::var_os(WITHOUT_NAMESPACES).is_none() {
        skip_without(KernelFeature::Namespaces, &isolation());
    }
    has
}

fn python(code: &str) -> Option<Command> {
    let mut command = Command::new(installed("python3")?);
    command.arg("-c").arg(code);
    Some(command)
}

/// Tries every call that acts on a process by its number; prints those that were not denied.
const REACH: &str = "
import ctypes, errno, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
target = int(sys.argv[1])
x86 = os.uname().machine == 'x86_64'
buffer = ctypes.create_string_buffer(256)
pointer = ctypes.addressof(buffer)
vector = (ctypes.c_size_t * 2)(pointer, 1)
pieces = ctypes.addressof(vector)
policy = ctypes.create_string_buffer(b'\\x30' + bytes(47))
calls = {
    'kill': (62 if x86 else 129, target, 0),
    'prlimit': (302 if x86 else 261, target, 4, 0, pointer),
    'sched_setaffinity': (203 if x86 else 122, target, 8, pointer),
    'sched_setscheduler': (144 if x86 else 119, target, 0, pointer),
    'sched_setattr': (314 if x86 else 274, target, ctypes.addressof(policy), 0),
    'setpriority': (141 if x86 else 140, 0, target, 10),
    'ioprio_set': (251 if x86 else 30, 1, target, 0),
    'process_vm_readv': (310 if x86 else 270, target, pieces, 1, pieces, 1, 0),
    'ptrace': (101 if x86 else 117, 0x4206, target, 0, 0),
    'pidfd_open': (434, target, 0),
    'kcmp': (312 if x86 else 272, target, target, 0, 0, 0),
    'move_pages': (279 if x86 else 239, target, 0, 0, 0, 0, 0),
    'migrate_pages': (256 if x86 else 238, target, 0, 0, 0),
    'perf_event_open': (298 if x86 else 241, pointer, target, -1, -1, 0),
}
buffer[0] = b'\\x01'
DENIED = (errno.EPERM, errno.EACCES, errno.ESRCH)
def reaches(numbers):
    done = call(*map(ctypes.c_long, numbers))
    return done >= 0 or ctypes.get_errno() not in DENIED
reached = [name for name, numbers in calls.items() if reaches(numbers)]
for name in ('environ', 'maps', 'mem', 'root/', 'cwd/'):
    try:
        os.stat('/proc/%d/%s' % (target, name)) and open('/proc/%d/%s' % (target, name), 'rb').read(1)
        reached.append(name)
    except IsADirectoryError:
        reached.append(name)
    except (OSError, PermissionError):
        pass
print(*reached)
";

#[test]
fn processes_outside_are_out_of_reach() {
    if !is_isolated() {
        return;
    }
    if python(REACH).is_none() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let confinement = Confinement::default().filesystem(writing(&[directory.path()]));
    let mut victim = Command::new("sleep").arg("300").spawn().unwrap();
    let attempt = || {
        let mut command = python(REACH).unwrap();
        command.arg(victim.id().to_string());
        command
    };
    let (confined, _) = output(attempt(), &confinement);
    let unconfined = super::output_of(attempt());
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(confined.status.success(), "{confined:?}");
    // Without namespaces, a descriptor can be had, but nothing can be done with it.
    let reached = String::from_utf8(confined.stdout).unwrap();
    let reached = reached.trim().replace("pidfd_open", "");
    assert_eq!(reached.trim(), "", "all of it should be out of reach");
    let unconfined = String::from_utf8(unconfined.stdout).unwrap();
    for name in ["kill", "prlimit", "sched_setaffinity", "ptrace", "environ"] {
        assert!(
            unconfined.contains(name),
            "{name} fails without confinement, too: {unconfined}"
        );
    }
}

#[test]
fn own_processes_are_within_reach() {
    if !is_isolated() {
        return;
    }
    let confinement = Confinement::default().filesystem(writing(&[]));
    let script =
        "sleep 300 & kill -0 $! && kill $! && wait $!; test $? = 143 && ulimit -c 0 && echo well";
    assert_eq!(succeeds(shell(script), &confinement), "well\n");
    if has_namespaces() {
        let script = "ps -e -o pid= > /dev/null && renice -n 19 -p $$ > /dev/null && \
                      sh -c 'kill -TERM $$'; test $? = 143 && test -d /proc/$$ && echo well";
        assert_eq!(succeeds(shell(script), &confinement), "well\n");
    }
}

/// Tries every call that changes a file other than its content.
const CHANGE: &str = "
import ctypes, fcntl, os, sys
call = ctypes.CDLL(None, use_errno=True).syscall
path = sys.argv[1]
descriptor = os.open(path, os.O_RDONLY)
attempts = {
    'chmod': lambda: os.chmod(path, 0o777),
    'fchmod': lambda: os.fchmod(descriptor, 0o777),
    'fchmodat2': lambda: call(452, -100, path.encode(), 0o777, 0) == 0 or fail(),
    'chown': lambda: os.chown(path, os.getuid(), os.getgid()),
    'fchown': lambda: os.fchown(descriptor, os.getuid(), os.getgid()),
    'utime': lambda: os.utime(path, (1, 1)),
    'futimes': lambda: os.utime(descriptor, (1, 1)),
    'now': lambda: os.utime(path),
    'setxattr': lambda: os.setxattr(path, 'user.test', b'x'),
    'fsetxattr': lambda: os.setxattr(descriptor, 'user.test', b'x'),
    'flags': lambda: fcntl.ioctl(descriptor, 0x40086602, b'\\x40' + bytes(7)),
}
def fail():
    raise OSError
for name, attempt in attempts.items():
    try:
        attempt()
        print(name)
    except OSError:
        pass
";

#[test]
fn read_only_files_keep_their_metadata() {
    if !is_isolated() {
        return;
    }
    let outside = tempfile::tempdir().unwrap();
    let inside = tempfile::tempdir().unwrap();
    let kept = outside.path().join("kept");
    fs::write(&kept, "kept").unwrap();
    fs::set_permissions(&kept, fs::Permissions::from_mode(0o640)).unwrap();
    let state = || {
        let metadata = fs::metadata(&kept).unwrap();
        let times = (
            metadata.mtime(),
            metadata.mtime_nsec(),
            metadata.ctime_nsec(),
        );
        (metadata.mode(), metadata.uid(), metadata.gid(), times)
    };
    let before = state();
    let mut access = writing(&[inside.path()]);
    access.read.push(outside.path().to_owned());
    let confinement = Confinement::default().filesystem(access);
    let Some(mut attempt) = python(CHANGE) else {
        return;
    };
    attempt.arg(&kept);
    assert_eq!(succeeds(attempt, &confinement), "");
    assert_eq!(state(), before);
    // A file that cannot even be read.
    let unreadable = Confinement::default().filesystem(writing(&[inside.path()]));
    let script = format!(
        "chmod 777 '{0}'; touch '{0}'; chmod 700 / ; true",
        kept.display()
    );
    output(shell(&script), &unreadable);
    assert_eq!(state(), before);
}

#[test]
fn writable_files_can_be_changed_in_every_way() {
    if !has_namespaces() {
        return;
    }
    let inside = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let confinement = Confinement::default().filesystem(writing(&[inside.path(), scratch.path()]));
    let script = "set -e; echo '#!/bin/sh' > run; chmod +x run; ./run; cp -p run copy; touch -d @5 run; \
                  test $(stat -c %Y run) = 5; mkdir -m 700 a; mv run a; tar cf a.tar a; rm -r a; \
                  tar xf a.tar; test $(stat -c %Y a/run) = 5; echo x > \"$0\"/other; \
                  mv \"$0\"/other .; chown $(id -u):$(id -g) other; ln copy hard; \
                  echo > /dev/null; git init -q . && git -c user.name=x -c user.email=x@y \
                  commit -q --allow-empty -m x; echo done";
    let mut command = shell(script);
    command
        .arg(scratch.path())
        .env("HOME", scratch.path())
        .current_dir(inside.path());
    assert_eq!(succeeds(command, &confinement), "done\n");
}

#[test]
fn the_user_stays_the_same_inside() {
    if !is_isolated() {
        return;
    }
    let confinement = Confinement::default().filesystem(writing(&[]));
    let expected = format!(
        "{} {}\n",
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw()
    );
    assert_eq!(
        succeeds(shell("echo $(id -u) $(id -g)"), &confinement),
        expected
    );
    let script = "! mount -t tmpfs x /mnt 2> /dev/null && ! mount -o remount,rw / 2> /dev/null && \
                  ! unshare -Urm mount -o remount,rw / 2> /dev/null && echo held";
    assert_eq!(succeeds(shell(script), &confinement), "held\n");
}

/// Set for a run of these tests where namespaces are refused.
const WITHOUT_NAMESPACES: &str = "ZOT_PROCESS_TEST_WITHOUT_NAMESPACES";

/// Not a test by itself: `without_namespaces_a_filter_protects` runs it.
#[test]
fn protected_by_a_filter() {
    if std::env::var_os(WITHOUT_NAMESPACES).is_none() {
        return;
    }
    assert!(
        isolation().starts_with("a system call filter"),
        "{}",
        isolation()
    );
    assert!(is_isolated());
    processes_outside_are_out_of_reach();
    own_processes_are_within_reach();
    read_only_files_keep_their_metadata();
    // The price: no mode can be changed.
    let directory = tempfile::tempdir().unwrap();
    let mut command = shell("echo x > file && cat file && ! chmod 700 file 2> /dev/null");
    command.current_dir(directory.path());
    let confinement = Confinement::default().filesystem(writing(&[directory.path()]));
    assert_eq!(succeeds(command, &confinement), "x\n");
}

#[test]
fn without_namespaces_a_filter_protects() {
    if !is_isolated() {
        return;
    }
    let script = "echo 0 > /proc/sys/user/max_pid_namespaces && exec \"$0\" --exact \
                  launch::tests::isolation::protected_by_a_filter --nocapture";
    let mut command = Command::new("unshare");
    command
        .args(["-Ur", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(WITHOUT_NAMESPACES, "1");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skip(&format!("namespaces cannot be refused here: {error}"));
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if !text.contains("running 1 test") {
        skip(&format!("namespaces cannot be refused here: {text}"));
        return;
    }
    assert!(output.status.success(), "{text}");
}

/// Set for a run of these tests where a part of `/proc` is covered.
const COVERED_PROC: &str = "ZOT_PROCESS_TEST_COVERED_PROC";

/// Not a test by itself: `a_proc_that_cannot_be_mounted_is_reported` runs it.
#[test]
fn reported_where_proc_is_covered() {
    if std::env::var_os(COVERED_PROC).is_none() {
        return;
    }
    assert!(isolation().ends_with("namespaces"), "{}", isolation());
    let Status::Partly(gap) = enforceable().processes else {
        panic!("{:?}", enforceable().processes);
    };
    assert!(gap.contains("parts of /proc are covered"), "{gap}");
}

#[test]
fn a_proc_that_cannot_be_mounted_is_reported() {
    if !has_namespaces() {
        return;
    }
    let gap = enforceable().processes.to_string();
    assert!(!gap.contains("/proc"), "{gap}");
    // In the inner namespace, what the outer one covers cannot be uncovered.
    let script = "mount -t tmpfs none /proc/irq && exec unshare -Urm \"$0\" --exact \
                  launch::tests::isolation::reported_where_proc_is_covered --nocapture";
    let mut command = Command::new("unshare");
    command
        .args(["-Urm", "sh", "-c", script])
        .arg(std::env::current_exe().unwrap())
        .env(COVERED_PROC, "1");
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            skip(&format!("/proc cannot be covered here: {error}"));
            return;
        }
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if !text.contains("running 1 test") {
        skip(&format!("/proc cannot be covered here: {text}"));
        return;
    }
    assert!(output.status.success(), "{text}");
}
