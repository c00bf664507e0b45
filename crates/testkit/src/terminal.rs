//! Runs programs with pseudoterminals as standard output and standard error.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// The output of a program on its terminals.
#[derive(Debug)]
pub struct AtTerminal {
    pub code: Option<i32>,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

/// Runs `command` to its end, with a terminal for each output stream and no input.
pub fn run_at_terminal(mut command: Command) -> AtTerminal {
    let (output, for_output) = terminal();
    let (errors, for_errors) = terminal();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(for_output)
        .stderr(for_errors)
        .spawn()
        .expect("start the program");
    // The command holds the program's ends of the terminals, which would stay open.
    drop(command);
    let errors = thread::spawn(move || read_all(errors));
    let output = read_all(output);
    let status = child.wait().expect("wait for the program");
    AtTerminal {
        code: status.code(),
        output,
        errors: errors.join().expect("read the program's errors"),
    }
}

fn terminal() -> (File, File) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("open a pseudo terminal");
    // macOS has no flag for it.
    fcntl_setfd(&master, FdFlags::CLOEXEC).expect("close it on exec");
    grantpt(&master).expect("grant the terminal");
    unlockpt(&master).expect("unlock the terminal");
    let name = ptsname(&master, Vec::new()).expect("name the terminal");
    let path = name.to_str().expect("the terminal's name is ASCII");
    let program_end = File::options()
        .read(true)
        .write(true)
        .open(path)
        .expect("open the terminal");
    (File::from(master), program_end)
}

/// Reads everything, with line ends as the program wrote them.
fn read_all(mut master: File) -> Vec<u8> {
    let mut read = Vec::new();
    let mut buffer = [0; 1 << 16];
    // Reading fails once the other end is closed.
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        read.extend_from_slice(&buffer[..count]);
    }
    let mut unix = Vec::with_capacity(read.len());
    for (index, byte) in read.iter().enumerate() {
        if !(*byte == b'\r' && read.get(index + 1) == Some(&b'\n')) {
            unix.push(*byte);
        }
    }
    unix
}

/// Fails if `shown` contains characters that a terminal obeys or that reorder or hide text.
pub fn assert_harmless(what: &str, shown: &[u8]) {
    let text = String::from_utf8(shown.to_vec())
        .unwrap_or_else(|_| panic!("{what}: not UTF-8: {:?}", String::from_utf8_lossy(shown)));
    let harmful = text.chars().find(|character| {
        (character.is_control() && !matches!(character, '\n' | '\t'))
            || matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2066}'..='\u{2069}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    });
    assert_eq!(harmful, None, "{what}: {text:?}");
}
