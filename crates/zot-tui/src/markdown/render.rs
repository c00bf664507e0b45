//! Renders complete blocks of Markdown as lines.

mod table;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::highlight::Highlighter;
use crate::style::{Style, Theme};
use crate::text::{Line, wrap};

use table::Table;

/// Renders `text` in `columns`. Code keeps its lines, however long.
pub(crate) fn render(text: &str, columns: usize, theme: &Theme) -> Vec<Line> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut writer = Writer::new(columns, theme);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        if let Event::Start(Tag::Item) = event {
            let (above, item) = text.split_at(range.start);
            let number = item.split(['.', ')']).next();
            let number = number.and_then(|number| number.trim().parse().ok());
            writer.begin_item(follows_blank_line(above), number);
        } else {
            writer.handle(event);
        }
    }
    writer.end_line();
    writer.lines
}

struct Writer<'a> {
    columns: usize,
    theme: &'a Theme,
    lines: Vec<Line>,
    line: Line,
    /// The prefix of every line: quotes and the indentation of lists.
    prefixes: Vec<Line>,
    /// The mark of a list item, for its first line only.
    mark: Option<Line>,
    styles: Vec<Style>,
    lists: Vec<Option<u64>>,
    code: Option<Highlighter>,
    table: Option<Table>,
    link: Option<String>,
    /// The next block needs a blank line before it.
    needs_gap: bool,
    /// The next item is the first of its list.
    begins_list: bool,
}

impl<'a> Writer<'a> {
    fn new(columns: usize, theme: &'a Theme) -> Self {
        Self {
            columns: columns.max(8),
            theme,
            lines: Vec::new(),
            line: Line::default(),
            prefixes: Vec::new(),
            mark: None,
            styles: Vec::new(),
            lists: Vec::new(),
            code: None,
            table: None,
            link: None,
            needs_gap: false,
            begins_list: false,
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) => self.write(&code, self.theme.code),
            Event::Html(html) | Event::InlineHtml(html) => self.text(&html),
            Event::SoftBreak => self.write(" ", Style::PLAIN),
            Event::HardBreak => self.end_line(),
            Event::Rule => {
                self.begin_block();
                self.line
                    .push("─".repeat(self.columns.min(40)), self.theme.muted);
                self.end_block();
            }
            Event::TaskListMarker(done) => {
                self.write(if done { "[x] " } else { "[ ] " }, self.theme.accent);
            }
            Event::FootnoteReference(name) => self.write(&format!("[{name}]"), self.theme.muted),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let style = match level as u8 {
                    1 => self.theme.heading.underline(),
                    _ => self.theme.heading,
                };
                self.styles.push(style);
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.needs_gap = false;
                self.prefixes.push(Line::styled("│ ", self.theme.muted));
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                self.code = Some(Highlighter::new(match &kind {
                    CodeBlockKind::Fenced(language) => language,
                    CodeBlockKind::Indented => "",
                }));
            }
            Tag::List(first) => {
                self.end_line();
                if self.lists.is_empty() {
                    self.begin_block();
                }
                self.needs_gap = false;
                self.begins_list = true;
                self.lists.push(first);
            }
            Tag::Table(alignments) => {
                self.begin_block();
                self.table = Some(Table::new(alignments));
            }
            Tag::TableHead | Tag::TableRow => {
                if let Some(table) = &mut self.table {
                    table.begin_row();
                }
            }
            Tag::Emphasis => self.styles.push(Style::PLAIN.italic()),
            Tag::Strong => self.styles.push(Style::PLAIN.bold()),
            Tag::Strikethrough => self.styles.push(Style::PLAIN.dim()),
            Tag::Link { dest_url, .. } => {
                self.link = Some(dest_url.into_string());
                self.styles.push(self.theme.link);
            }
            Tag::Image { dest_url, .. } => {
                self.write("image: ", self.theme.muted);
                self.link = Some(dest_url.into_string());
                self.styles.push(self.theme.link);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => self.end_block(),
            TagEnd::Heading(_) => {
                self.styles.pop();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_line();
                self.prefixes.pop();
                self.needs_gap = true;
            }
            TagEnd::CodeBlock => {
                self.code = None;
                self.needs_gap = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.needs_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.end_line();
                self.mark = None;
                self.prefixes.pop();
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.line);
                if let Some(table) = &mut self.table {
                    table.push_cell(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let room = self.columns.saturating_sub(self.prefix_width());
                    for line in table.lines(room, self.theme) {
                        self.line = line;
                        self.end_line();
                    }
                }
                self.needs_gap = true;
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => drop(self.styles.pop()),
            TagEnd::Link | TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// Begins an item, after a blank line if the text has one there. According to CommonMark, a blank
    /// line anywhere separates all items of a list and numbers continue, but the rest of an arriving
    /// answer is unknown. `written` is the number in the text.
    fn begin_item(&mut self, is_separated: bool, written: Option<u64>) {
        self.needs_gap = false;
        if is_separated && !std::mem::take(&mut self.begins_list) {
            let prefix = self.prefix();
            self.lines.push(prefix);
            if let Some(Some(number)) = self.lists.last_mut() {
                *number = written.unwrap_or(*number);
            }
        }
        self.begins_list = false;
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                let mark = format!("{number}. ");
                *number += 1;
                mark
            }
            _ => "• ".to_owned(),
        };
        let indent = " ".repeat(crate::text::width(&mark));
        self.mark = Some(Line::styled(mark, self.theme.accent));
        self.prefixes.push(Line::plain(indent));
    }

    fn end_link(&mut self) {
        self.styles.pop();
        let Some(address) = self.link.take() else {
            return;
        };
        // The text of a bare URL already shows it.
        let shown = self.line.text();
        if !address.is_empty() && !shown.ends_with(address.trim_start_matches("mailto:")) {
            self.write(&format!(" ({address})"), self.theme.muted);
        }
    }

    fn text(&mut self, text: &str) {
        if self.code.is_none() {
            return self.write(text, Style::PLAIN);
        }
        for line in text.lines() {
            if let Some(highlighter) = &mut self.code {
                self.line = Line::plain("  ");
                self.line.append(highlighter.line(line, self.theme));
            }
            self.end_code_line();
        }
    }

    fn write(&mut self, text: &str, style: Style) {
        let outer = self
            .styles
            .iter()
            .fold(Style::PLAIN, |all, one| all.with(*one));
        let text = text.replace('\n', " ");
        self.line.push(text, outer.with(style));
    }

    fn begin_block(&mut self) {
        self.end_line();
        if self.needs_gap && self.mark.is_none() {
            let prefix = self.prefix();
            self.lines.push(prefix);
        }
        self.needs_gap = false;
    }

    fn end_block(&mut self) {
        self.end_line();
        self.needs_gap = true;
    }

    fn prefix(&self) -> Line {
        let mut prefix = Line::default();
        for part in &self.prefixes {
            prefix.append(part.clone());
        }
        prefix
    }

    fn prefix_width(&self) -> usize {
        self.prefixes.iter().map(Line::width).sum()
    }

    /// Returns the prefix of the next line, in which an item's mark replaces the last part once.
    fn next_prefix(&mut self) -> Line {
        match self.mark.take() {
            None => self.prefix(),
            Some(mark) => {
                let last = self.prefixes.pop();
                let mut prefix = self.prefix();
                self.prefixes.extend(last);
                prefix.append(mark);
                prefix
            }
        }
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            return;
        }
        let room = self.columns.saturating_sub(self.prefix_width());
        for part in wrap(&line, room, 0) {
            let mut whole = self.next_prefix();
            whole.append(part);
            self.lines.push(whole);
        }
    }

    fn end_code_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let mut whole = self.next_prefix();
        whole.append(line);
        self.lines.push(whole);
    }
}

/// Returns whether a blank line precedes the line that begins after `text`.
fn follows_blank_line(text: &str) -> bool {
    let is_prefix = |c: char| matches!(c, ' ' | '\t' | '>' | '\r');
    let above = text.trim_end_matches(is_prefix);
    let above = above.strip_suffix('\n').unwrap_or(above);
    above.trim_end_matches(is_prefix).ends_with('\n')
}
