//! Pseudo-terminals, which a view has of its own.

use super::Fixture;
use crate::launch;
use crate::sandbox::{Level, Policy};

/// Talks to a shell through a terminal, as `script`, `expect` and tests of terminal programs do.
const CONVERSATION: &str = r#"
import os, pty
child, terminal = pty.fork()
if child == 0:
    os.execv("/bin/sh", ["sh", "-c", "test -t 0 && stty size && echo on $(tty)"])
text = b""
while True:
    try:
        piece = os.read(terminal, 1000)
    except OSError:
        break
    if not piece:
        break
    text += piece
os.waitpid(child, 0)
print(text.decode().split(), sorted(os.listdir("/dev/pts")))
"#;

/// Puts a character into the terminal's input, as if the user had typed it.
const INJECTION: &str = r#"
import fcntl, os, termios
terminal, other = os.openpty()
fcntl.ioctl(other, termios.TIOCSTI, b"x")
"#;

fn python(program: &str) -> String {
    format!("exec /usr/bin/python3 -I -S -c '{program}'")
}

#[test]
fn a_view_has_terminals_of_its_own() {
    if launch::namespaces_available().is_err() {
        return;
    }
    for level in [Level::Workspace, Level::ReadOnly] {
        let text = Fixture::new(false).succeeds(Policy::at(level), &python(CONVERSATION));
        // The first of this instance, whatever the user has open.
        assert!(text.contains("'on', '/dev/pts/0'"), "{text}");
        assert!(text.ends_with("['0', 'ptmx']\n"), "{text}");
    }
}

#[test]
fn nothing_is_typed_into_a_terminal() {
    if launch::namespaces_available().is_err() {
        return;
    }
    let text = Fixture::new(false).fails(Policy::at(Level::Workspace), &python(INJECTION));
    assert!(text.contains("PermissionError"), "{text}");
}
