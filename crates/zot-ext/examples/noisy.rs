//! An extension that prints, starts children, and gets stuck: for the tests of this crate.

use std::process::Command;
use std::time::Duration;

use zot_ext::{Extension, NoArguments, Response};

fn main() -> zot_ext::Result {
    let mut extension = Extension::new("noisy", "1.0.0")
        .command("print", "print to standard output", async |args| {
            #[expect(clippy::print_stdout, reason = "this is what must do no harm")]
            {
                println!("printed {args}");
            }
            Response::display(args)
        })
        .command(
            "child",
            "start a child that reads and writes",
            async |_args| {
                // It inherits all streams.
                let script = "echo from the child; cat";
                let status = Command::new("sh").args(["-c", script]).status();
                status.map(|status| Response::display(status.to_string()))
            },
        )
        .tool(
            "stuck",
            "block a thread for good",
            async |_: NoArguments| {
                zot_ext::blocking(|| std::thread::sleep(Duration::from_secs(3600))).await;
            },
        );
    if std::env::args().any(|argument| argument == "--mistake") {
        extension = extension.hold_text();
    }
    extension.run()
}
