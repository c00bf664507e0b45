//! The program on its own. Also makes cargo build it, for the tests of zot that run it.

use std::process::{Command, Stdio};

use zot_ext::{ExtensionFrame, Value};

#[test]
fn it_introduces_itself_and_leaves_with_its_input() -> Result<(), Box<dyn std::error::Error>> {
    let output = Command::new(env!("CARGO_BIN_EXE_hello"))
        .stdin(Stdio::null())
        .output()?;
    let frames: Result<Vec<Value>, _> = output
        .stdout
        .split_inclusive(|&byte| byte == b'\n')
        .map(|line| {
            ExtensionFrame::parse(line)?;
            Ok::<_, Box<dyn std::error::Error>>(zot_ext::serde_json::from_slice(line)?)
        })
        .collect();
    let kinds: Vec<Value> = frames?.iter().map(|frame| frame["type"].clone()).collect();
    assert_eq!(kinds, ["hello", "register_command", "ready"]);
    assert!(output.status.success(), "{}", output.status);
    Ok(())
}
