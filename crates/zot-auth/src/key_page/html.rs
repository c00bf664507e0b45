//! The HTML of the page. It loads no resources and runs no scripts.

use std::fmt::Write as _;

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;\
color:#222;background:#fff}label{display:block;margin:1rem 0 .25rem}input,select,button{font:inherit;\
width:100%;box-sizing:border-box;padding:.6rem;border:1px solid #999;border-radius:6px;background:#fff;color:#222}\
button{margin-top:1.25rem;background:#222;color:#fff;border-color:#222;cursor:pointer}\
.problem{border-left:4px solid #b00;padding:.25rem .75rem}.small{color:#666;font-size:.875rem}\
@media(prefers-color-scheme:dark){body{color:#eee;background:#111}input,select{background:#222;color:#eee}\
button{background:#eee;color:#111}.small{color:#aaa}}";

/// Returns a page with a heading and a sentence.
pub(crate) fn page(title: &str, text: &str) -> String {
    document(title, &format!("<p>{}</p>", escaped(text)))
}

/// Returns the page with the field for the key.
pub(super) fn form(path: &str, providers: &[String], problem: Option<&str>) -> String {
    let mut body = String::new();
    if let Some(problem) = problem {
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            body,
            "<p class=\"problem\" role=\"alert\">{}</p>",
            escaped(problem)
        );
    }
    let _ = write!(body, "<form method=\"post\" action=\"{}\">", escaped(path));
    if let [only] = providers {
        let _ = write!(
            body,
            "<p>The API key of <b>{}</b> for zot on this machine.</p>",
            escaped(only)
        );
    } else {
        body.push_str(
            "<label for=\"provider\">Provider</label><select id=\"provider\" name=\"provider\">",
        );
        for name in providers {
            let _ = write!(body, "<option>{}</option>", escaped(name));
        }
        body.push_str("</select>");
    }
    body.push_str(
        "<label for=\"key\">API key</label><input id=\"key\" name=\"key\" type=\"password\" \
         autocomplete=\"off\" spellcheck=\"false\" required autofocus>\
         <button>Check and save</button></form>\
         <p class=\"small\">The key is sent to the provider once, to check that it works, and saved in \
         auth.json, which only you can read.</p>",
    );
    document("zot login", &body)
}

fn document(title: &str, body: &str) -> String {
    let title = escaped(title);
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\
         <style>{STYLE}</style></head><body><h1>{title}</h1>{body}</body></html>\n"
    )
}

fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}
