//! The files of the page, which are part of the program.

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const IMAGE: &str = "image/svg+xml";

macro_rules! assets {
    ($($name:literal $kind:ident),* $(,)?) => {
        &[$(($name, $kind, include_str!(concat!("../../assets/", $name)))),*]
    };
}

/// Name, type and content of all files the page loads.
const ASSETS: &[(&str, &str, &str)] = assets![
    "app.js" SCRIPT,
    "arguments.js" SCRIPT,
    "attention.js" SCRIPT,
    "calls.js" SCRIPT,
    "cards.js" SCRIPT,
    "charts.js" SCRIPT,
    "connection.js" SCRIPT,
    "detail.css" STYLE,
    "detail.js" SCRIPT,
    "feed.js" SCRIPT,
    "filters.js" SCRIPT,
    "format.js" SCRIPT,
    "icon.svg" IMAGE,
    "keys.js" SCRIPT,
    "model.js" SCRIPT,
    "overview.js" SCRIPT,
    "page.css" STYLE,
    "replay.js" SCRIPT,
    "replaybar.js" SCRIPT,
    "series.js" SCRIPT,
    "theme.css" STYLE,
    "theme.js" SCRIPT,
    "timeline.js" SCRIPT,
    "tracker.js" SCRIPT,
    "words.js" SCRIPT,
];

const PAGE: &str = include_str!("../../assets/index.html");

/// Finds the type and content of an asset.
pub(super) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    ASSETS
        .iter()
        .find(|(known, ..)| *known == name)
        .map(|(_, kind, content)| (*kind, *content))
}

/// Returns the page with the path of its assets and the name of the log to replay.
pub(super) fn page(token: &str, log: Option<&str>) -> (&'static str, String) {
    let page = PAGE
        .replace("{{assets}}", &format!("assets/{token}"))
        .replace("{{log}}", &escape(log.unwrap_or_default()));
    (HTML, page)
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('"', "&quot;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
