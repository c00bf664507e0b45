//! A slash command: `/hello` makes the model greet.

use zot_ext::{Extension, Response};

fn main() -> zot_ext::Result {
    Extension::new("hello", "1.0.0")
        .command("hello", "say hi", async |_args| {
            Response::prompt("Greet me in one short sentence.")
        })
        .run()
}
