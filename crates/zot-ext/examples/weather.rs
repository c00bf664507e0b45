//! A tool: the model asks for the weather, and gets what this makes up.

use schemars::JsonSchema;
use serde::Deserialize;
use zot_ext::Extension;

#[derive(Deserialize, JsonSchema)]
struct City {
    /// Which city
    city: String,
}

fn main() -> zot_ext::Result {
    Extension::new("weather", "1.0.0")
        .tool(
            "weather",
            "Current weather for a city.",
            async |City { city }: City| format!("{city}: sunny"),
        )
        .run()
}
