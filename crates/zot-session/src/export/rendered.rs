//! Renders a model's Markdown as HTML.
//!
//! Everything is escaped: markup in the text is shown, not interpreted. Nothing is fetched, so an
//! image becomes a link, and only links with safe schemes are active.

use std::fmt::Write as _;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::html::escaped;

/// The schemes that a link may have.
const SAFE_SCHEMES: [&str; 3] = ["http:", "https:", "mailto:"];

/// Renders `text` as HTML.
pub(super) fn rendered(text: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::default();
    for event in Parser::new_ext(text, options) {
        writer.take(event);
    }
    writer.html
}

#[derive(Default)]
struct Writer {
    html: String,
    /// The alignments of the current table, and the next column.
    alignments: Vec<Alignment>,
    column: usize,
    is_header: bool,
    /// The open links, nested: whether each is active.
    links: Vec<bool>,
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.begin(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.html.push_str(&escaped(&text)),
            Event::Code(code) => self.push(format_args!("<code>{}</code>", escaped(&code))),
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => self.html.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => {
                self.html.push_str(if is_done { "☑ " } else { "☐ " });
            }
            // HTML in the text is shown as text, and so is what the options do not enable.
            Event::Html(text)
            | Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.html.push_str(&escaped(&text)),
        }
    }

    fn begin(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Heading { level, .. } => self.push(format_args!("<{level}>")),
            Tag::BlockQuote(_) => self.html.push_str("<blockquote>\n"),
            Tag::CodeBlock(kind) => self.begin_code(&kind),
            Tag::HtmlBlock => self.html.push_str("<pre>"),
            Tag::List(None) => self.html.push_str("<ul>\n"),
            Tag::List(Some(1)) => self.html.push_str("<ol>\n"),
            Tag::List(Some(first)) => self.push(format_args!("<ol start=\"{first}\">\n")),
            Tag::Item => self.html.push_str("<li>"),
            Tag::Table(alignments) => {
                self.alignments = alignments;
                self.html.push_str("<table>\n");
            }
            Tag::TableHead => {
                self.is_header = true;
                self.column = 0;
                self.html.push_str("<thead><tr>");
            }
            Tag::TableRow => {
                self.column = 0;
                self.html.push_str("<tr>");
            }
            Tag::TableCell => self.begin_cell(),
            Tag::Emphasis => self.html.push_str("<em>"),
            Tag::Strong => self.html.push_str("<strong>"),
            Tag::Strikethrough => self.html.push_str("<del>"),
            Tag::Link { dest_url, .. } => self.begin_link(&dest_url),
            Tag::Image { dest_url, .. } => {
                self.begin_link(&dest_url);
                self.html.push_str("(an image) ");
            }
            // What the options do not enable becomes a paragraph.
            _ => self.html.push_str("<p>"),
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(level) => self.push(format_args!("</{level}>\n")),
            TagEnd::BlockQuote(_) => self.html.push_str("</blockquote>\n"),
            TagEnd::CodeBlock => self.html.push_str("</code></pre>\n"),
            TagEnd::HtmlBlock => self.html.push_str("</pre>\n"),
            TagEnd::List(false) => self.html.push_str("</ul>\n"),
            TagEnd::List(true) => self.html.push_str("</ol>\n"),
            TagEnd::Item => self.html.push_str("</li>\n"),
            TagEnd::Table => self.html.push_str("</tbody></table>\n"),
            TagEnd::TableHead => {
                self.is_header = false;
                self.html.push_str("</tr></thead>\n<tbody>\n");
            }
            TagEnd::TableRow => self.html.push_str("</tr>\n"),
            TagEnd::TableCell => {
                let end = if self.is_header { "</th>" } else { "</td>" };
                self.html.push_str(end);
            }
            TagEnd::Emphasis => self.html.push_str("</em>"),
            TagEnd::Strong => self.html.push_str("</strong>"),
            TagEnd::Strikethrough => self.html.push_str("</del>"),
            TagEnd::Link | TagEnd::Image => {
                if self.links.pop() == Some(true) {
                    self.html.push_str("</a>");
                }
            }
            _ => self.html.push_str("</p>\n"),
        }
    }

    fn begin_code(&mut self, kind: &CodeBlockKind<'_>) {
        let language = match kind {
            CodeBlockKind::Fenced(info) => info.split([' ', ',', '{']).next().unwrap_or_default(),
            CodeBlockKind::Indented => "",
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "+-_#.".contains(c);
        match !language.is_empty() && language.chars().all(is_name) {
            true => self.push(format_args!(
                "<pre class=\"code\"><code class=\"language-{language}\">"
            )),
            false => self.html.push_str("<pre class=\"code\"><code>"),
        }
    }

    fn begin_cell(&mut self) {
        let name = if self.is_header { "th" } else { "td" };
        let class = match self.alignments.get(self.column) {
            Some(Alignment::Right) => " class=\"right\"",
            Some(Alignment::Center) => " class=\"centre\"",
            _ => "",
        };
        self.column += 1;
        self.push(format_args!("<{name}{class}>"));
    }

    /// Begins a link. One inside another link, such as an image, is not active.
    fn begin_link(&mut self, url: &str) {
        let is_active = is_safe(url) && !self.links.contains(&true);
        if is_active {
            self.push(format_args!(
                "<a href=\"{}\" rel=\"noopener noreferrer nofollow\">",
                escaped(url)
            ));
        }
        self.links.push(is_active);
    }

    fn push(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.html.write_fmt(text);
    }
}

/// Returns whether a link may be active. Browsers ignore blanks and control characters in a scheme,
/// so an address that has any is not safe.
fn is_safe(url: &str) -> bool {
    let lower = url.to_ascii_lowercase();
    !url.contains(|c: char| c.is_control() || c.is_whitespace())
        && SAFE_SCHEMES.iter().any(|scheme| lower.starts_with(scheme))
}
