//! Programs whose standard output and standard error are terminals, a pseudo terminal each.

use std::fs::File;
use std::io::Read as _;
use std::process::{Command, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// What a program has written to its terminals until its end.
#[derive(Debug)]
pub struct AtTerminal {
    pub code: Option<i32>,
    pub output: Vec<u8>,
    pub errors: Vec<u8>,
}

/// Runs `command` to its end, with a terminal for each of its output streams and nothing as input.
pub fn run_at_terminal(mut command: Command) -> AtTerminal {
    let (output, for_output) = terminal();
    let (errors, for_errors) = terminal();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(for_output)
        .stderr(for_errors)
        .spawn()
        .expect("start the program");
    // The command holds the program's ends of the terminals, which then would not end.
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
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).expect("open a pseudo terminal");
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

/// What was written, with line ends as the program wrote them.
fn read_all(mut master: File) -> Vec<u8> {
    let mut read = Vec::new();
    let mut buffer = [0; 1 << 16];
    // A terminal ends with an error once nobody has its other end open.
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

/// Fails if there is anything in `shown` that a terminal obeys or that reorders or hides text.
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
