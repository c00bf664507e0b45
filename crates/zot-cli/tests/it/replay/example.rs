//! The worked example runs unchanged.

use std::path::Path;
use std::process::Command;

use crate::support::binary;

#[test]
fn the_example_passes() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/replay");
    let run = Command::new("python3")
        .arg(example.join("test_client.py"))
        .env("ZOT", binary())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("run python3");
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(
        run.status.success(),
        "{errors}\nIf zot itself changed: ZOT=… python3 examples/replay/test_client.py --record"
    );
    assert!(errors.contains("OK"), "{errors}");
}
