//! How the attempts are confined, and the process that runs them: with another user, a terminal, variables
//! of its own, or where namespaces are refused.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use testkit::{KernelFeature, skip_without};
use zot_process::launch::{Status, enforceable, isolation};

use crate::confined::python;

/// Says what the process shall run: a category and a mode.
pub(crate) const TASK_VARIABLE: &str = "ZOT_ESCAPES_TASK";

/// The secret that must not get out, in a variable that is on no list.
pub(crate) const SECRET_VARIABLE: &str = "ZOT_ESCAPES_UNLISTED";

/// A directory with programs that have more rights than their caller.
pub(crate) const PRIVILEGED_VARIABLE: &str = "ZOT_ESCAPES_PRIVILEGED";

/// Runs only the attempts whose names contain this.
pub(crate) const FILTER_VARIABLE: &str = "ZOT_ESCAPES_FILTER";

/// The user `nobody`, and nobody's group.
const ORDINARY: u32 = 65534;

/// Runs a program where the kernel refuses every namespace.
const REFUSING: &str = "
import ctypes, os, sys
user, group = os.getuid(), os.getgid()
if ctypes.CDLL(None, use_errno=True).unshare(0x10000000):
    sys.exit('cannot make a user namespace')
for name, text in (('setgroups', 'deny'), ('uid_map', f'{user} {user} 1'), ('gid_map', f'{group} {group} 1')):
    with open('/proc/self/' + name, 'w') as file:
        file.write(text)
for name in os.listdir('/proc/sys/user'):
    if name.endswith('_namespaces'):
        with open('/proc/sys/user/' + name, 'w') as file:
            file.write('0')
os.execv(sys.argv[1], sys.argv[1:])
";

/// Runs a program with a terminal of its own, and prints what arrives there.
const AT_TERMINAL: &str = "
import os, pty, sys
child, terminal = pty.fork()
if child == 0:
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    try:
        text = os.read(terminal, 4096)
    except OSError:
        break
    if not text:
        break
    os.write(1, text)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
";

/// Runs a program in a network of its own: addresses of a small internet, and a name server. The first
/// argument is a directory with the files that programs read to find it.
const IN_INTERNET: &str = include_str!("attempts/network_of_test.py");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Namespaces, Landlock and seccomp.
    Namespaces,
    /// Landlock and seccomp alone, because the sandbox was told so.
    Alone,
    /// Landlock and seccomp alone, because the kernel refuses namespaces.
    Refused,
    /// No sandbox: the attempts must succeed.
    Off,
}

impl Mode {
    const ALL: [Self; 4] = [Self::Namespaces, Self::Alone, Self::Refused, Self::Off];

    pub(crate) fn named(name: &str) -> Self {
        *Self::ALL
            .iter()
            .find(|mode| format!("{mode:?}") == name)
            .unwrap()
    }

    /// Returns whether the kernel has what it takes; otherwise the test is skipped.
    fn is_possible(self, category: &str) -> bool {
        let files = enforceable().files;
        if self != Self::Off && matches!(files, Status::NotEnforced(_)) {
            skip_without(KernelFeature::Landlock, &files.to_string());
            return false;
        }
        let report = isolation();
        let has_namespaces =
            report.starts_with("namespaces") || report.starts_with("user namespaces");
        if (matches!(self, Self::Namespaces | Self::Refused) || category == "proxy")
            && !has_namespaces
        {
            skip_without(KernelFeature::Namespaces, &report);
            return false;
        }
        true
    }
}

/// Runs the attempts of a category, as this user and as an ordinary one; fails with those that are not as
/// the table says.
pub(crate) fn check(category: &str, mode: Mode) {
    if !mode.is_possible(category) {
        return;
    }
    let shared = tempfile::Builder::new()
        .prefix("zot-escapes-shared-")
        .tempdir()
        .unwrap();
    fs::set_permissions(shared.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let secret = format!(
        "canary-of-zot-{:016x}",
        std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), 1)
    );
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        make_privileged(shared.path(), &secret);
    }
    let mut users = vec![None];
    // Where namespaces are refused, the rest is the same for everybody.
    if is_root && mode != Mode::Refused {
        users.push(Some(ORDINARY));
    }
    let mut problems = Vec::new();
    for user in users {
        let report = rerun(category, mode, user, shared.path(), &secret);
        println!("{report}");
        let is_complete = report.lines().any(|line| line.starts_with("ended: "));
        let wrong: Vec<String> = report
            .lines()
            .filter(|line| line.starts_with("wrong: "))
            .map(str::to_owned)
            .collect();
        if !is_complete {
            problems.push(format!("the attempts did not end:\n{report}"));
        }
        problems.extend(wrong);
    }
    assert!(
        problems.is_empty(),
        "{category}, {mode:?}:\n{}",
        problems.join("\n")
    );
}

/// Runs this test program again, in a process with everything that the attempts need.
fn rerun(category: &str, mode: Mode, user: Option<u32>, shared: &Path, secret: &str) -> String {
    let program = match user {
        None => std::env::current_exe().unwrap(),
        // Another user may not reach the directory of the program.
        Some(_) => copy_of_program(shared),
    };
    let mut command = match (mode, category) {
        (Mode::Refused, _) => launched(REFUSING, &program),
        (_, "proxy") => {
            let mut command = launched(IN_INTERNET, shared);
            command.arg(&program);
            command
        }
        (_, "terminal") => launched(AT_TERMINAL, &program),
        _ => Command::new(&program),
    };
    let home = shared.join("home-of-user");
    fs::create_dir_all(&home).unwrap();
    if let Some(user) = user {
        command.uid(user).gid(user);
        chown(&home, Some(user), Some(user)).unwrap();
    }
    command
        .args(["--exact", "inside", "--nocapture", "--test-threads=1"])
        .env(TASK_VARIABLE, format!("{category} {mode:?}"))
        .env(SECRET_VARIABLE, secret)
        .env("ANTHROPIC_API_KEY", secret)
        .env("ZOTCORE_RPC_TOKEN", secret)
        .env("NODE_OPTIONS", format!("--title={secret}"))
        .env("BASH_ENV", format!("/nonexistent/{secret}"))
        .env("HOME", home)
        .env_remove("TMPDIR")
        .env_remove("SSH_AUTH_SOCK")
        .current_dir("/")
        .stdin(Stdio::null());
    if shared.join("id").exists() {
        command.env(PRIVILEGED_VARIABLE, shared);
    }
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text + &String::from_utf8_lossy(&output.stderr)
}

fn launched(code: &str, program: &Path) -> Command {
    let mut command = Command::new(python());
    command.args(["-I", "-S", "-c", code]).arg(program);
    command
}

fn copy_of_program(shared: &Path) -> PathBuf {
    let copy = shared.join("escapes");
    if !copy.exists() {
        fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755)).unwrap();
    }
    copy
}

/// Makes programs with more rights than their caller, as root.
fn make_privileged(shared: &Path, secret: &str) {
    let program = |name: &str| fs::canonicalize(Path::new("/usr/bin").join(name)).unwrap();
    for (name, source, owner, mode) in [
        ("id", "id", 0, 0o4755),
        ("id-group", "id", 0, 0o2755),
        ("id-other", "id", ORDINARY, 0o4755),
        ("cat", "cat", 0, 0o755),
    ] {
        let copy = shared.join(name);
        fs::copy(program(source), &copy).unwrap();
        chown(&copy, Some(owner), Some(0)).unwrap();
        fs::set_permissions(&copy, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o7777, mode);
    }
    // Revision 2, effective; CAP_DAC_READ_SEARCH and CAP_DAC_OVERRIDE.
    let capabilities: [u32; 5] = [0x0200_0001, 0b110, 0, 0, 0];
    let bytes: Vec<u8> = capabilities
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    rustix::fs::setxattr(
        shared.join("cat"),
        "security.capability",
        &bytes,
        rustix::fs::XattrFlags::empty(),
    )
    .unwrap();
    let hidden = shared.join("root-only");
    fs::write(&hidden, secret).unwrap();
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o600)).unwrap();
}
