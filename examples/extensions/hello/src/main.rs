//! A slash command in Rust: `/hello [name]` has the model greet.

use zot_ext::{Extension, Response};

fn main() -> zot_ext::Result {
    Extension::new("hello", "1.0.0")
        .command("hello", "have the agent greet you", async |name| {
            let whom = if name.is_empty() { "me" } else { &name };
            Response::prompt(format!("Greet {whom} in one short sentence."))
        })
        .run()
}
