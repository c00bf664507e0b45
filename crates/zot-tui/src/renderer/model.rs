//! A terminal for tests that is resized the way real ones are, unlike the emulator.

/// The terminal whose rules it follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// `screen_resize_y` and `grid_reflow` of tmux.
    Tmux,
    /// `Buffer.resize` of xterm.js.
    XtermJs,
}

#[derive(Debug, Clone, Default)]
struct Row {
    cells: Vec<char>,
    /// The next row continues this one.
    is_wrapped: bool,
}

#[derive(Debug)]
pub(crate) struct Model {
    rules: Rules,
    columns: usize,
    rows: usize,
    /// All rows, those that have scrolled away first.
    lines: Vec<Row>,
    /// How many have scrolled away.
    base: usize,
    /// How many of them tmux pulls back.
    scrolled: usize,
    cursor: (usize, usize),
    saved: (usize, usize),
}

impl Model {
    pub(crate) fn new(rules: Rules, columns: usize, rows: usize) -> Self {
        Self {
            rules,
            columns,
            rows,
            lines: vec![Row::default(); rows],
            base: 0,
            scrolled: 0,
            cursor: (0, 0),
            saved: (0, 0),
        }
    }

    /// Returns the cursor's row and column on the screen.
    pub(crate) fn cursor(&self) -> (usize, usize) {
        self.cursor
    }

    /// Returns the scrollback and the screen.
    pub(crate) fn everything(&self) -> Vec<String> {
        let text = |row: &Row| row.cells.iter().collect::<String>().trim_end().to_owned();
        self.lines.iter().map(text).collect()
    }

    pub(crate) fn screen(&self) -> Vec<String> {
        self.everything().split_off(self.base)
    }

    pub(crate) fn write(&mut self, text: &str) {
        let mut rest = text;
        while let Some(character) = rest.chars().next() {
            rest = &rest[character.len_utf8()..];
            match character {
                '\r' => self.cursor.1 = 0,
                '\n' => self.line_feed(),
                '\x1b' => rest = self.escape(rest),
                character => self.print(character),
            }
        }
    }

    fn escape<'a>(&mut self, rest: &'a str) -> &'a str {
        if let Some(rest) = rest.strip_prefix('7') {
            self.saved = self.cursor;
            return rest;
        }
        if let Some(rest) = rest.strip_prefix('8') {
            self.cursor = self.saved;
            return rest;
        }
        let body = rest.strip_prefix('[').expect("unknown sequence");
        let end = body.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        let number: usize = body[..end].parse().unwrap_or(1);
        let (row, column) = self.cursor;
        match &body[end..=end] {
            "A" => self.cursor.0 = row.saturating_sub(number),
            "B" => self.cursor.0 = (row + number).min(self.rows - 1),
            "C" => self.cursor.1 = (column + number).min(self.columns - 1),
            "H" => self.cursor = (0, 0),
            "K" => self.clear_line(row, column),
            "J" => {
                assert!(
                    (row, column) != (0, 0),
                    "tmux would copy a screen cleared in one step into its history"
                );
                self.clear_line(row, column);
                (row + 1..self.rows).for_each(|row| self.clear_line(row, 0));
            }
            "m" | "h" | "l" => {}
            other => panic!("unknown sequence {other:?}"),
        }
        &body[end + 1..]
    }

    fn clear_line(&mut self, row: usize, column: usize) {
        let line = &mut self.lines[self.base + row];
        line.cells.truncate(column);
        line.is_wrapped = false;
    }

    fn line_feed(&mut self) {
        if self.cursor.0 + 1 < self.rows {
            self.cursor.0 += 1;
            return;
        }
        self.lines.push(Row::default());
        self.base += 1;
        self.scrolled += 1;
    }

    fn print(&mut self, character: char) {
        if self.cursor.1 >= self.columns {
            self.lines[self.base + self.cursor.0].is_wrapped = true;
            self.line_feed();
            self.cursor.1 = 0;
        }
        let (row, column) = self.cursor;
        let cells = &mut self.lines[self.base + row].cells;
        cells.resize(cells.len().max(column + 1), ' ');
        cells[column] = character;
        self.cursor.1 += 1;
    }

    pub(crate) fn resize(&mut self, columns: usize, rows: usize) {
        match self.rules {
            Rules::Tmux => self.resize_as_tmux(rows),
            Rules::XtermJs => self.resize_as_xterm_js(rows),
        }
        self.rows = rows;
        if columns != self.columns {
            self.reflow(columns);
        }
    }

    fn resize_as_tmux(&mut self, rows: usize) {
        let below = self.rows - 1 - self.cursor.0;
        if rows < self.rows {
            let needed = self.rows - rows;
            let dropped = needed.min(below);
            self.lines.truncate(self.lines.len() - dropped);
            let pushed = needed - dropped;
            self.base += pushed;
            self.scrolled += pushed;
            self.cursor.0 -= pushed;
        } else {
            let needed = rows - self.rows;
            let pulled = needed.min(self.scrolled);
            self.scrolled -= pulled;
            self.base -= pulled;
            self.cursor.0 += pulled;
            self.lines.resize(self.base + rows, Row::default());
        }
    }

    fn resize_as_xterm_js(&mut self, rows: usize) {
        for _ in rows..self.rows {
            if self.lines.len() > self.base + self.cursor.0 + 1 {
                self.lines.pop();
            } else {
                self.base += 1;
                self.cursor.0 -= 1;
            }
        }
        for _ in self.rows..rows {
            if self.base > 0 && self.lines.len() <= self.base + self.cursor.0 + 1 {
                self.base -= 1;
                self.cursor.0 += 1;
            } else {
                self.lines.push(Row::default());
            }
        }
    }

    /// Wraps every line again. The cursor stays with its character.
    fn reflow(&mut self, columns: usize) {
        let cursor_row = self.base + self.cursor.0;
        let mut wrapped = Vec::new();
        let mut cursor = (0, 0);
        let mut line: Vec<char> = Vec::new();
        for (index, row) in self.lines.iter().enumerate() {
            let offset = (index == cursor_row).then_some(line.len() + self.cursor.1);
            line.extend(&row.cells);
            if let Some(offset) = offset {
                cursor = (wrapped.len() + offset / columns, offset % columns);
            }
            if row.is_wrapped {
                continue;
            }
            let whole = std::mem::take(&mut line);
            let count = whole.len().div_ceil(columns).max(1);
            for part in 0..count {
                let end = whole.len().min((part + 1) * columns);
                wrapped.push(Row {
                    cells: whole[part * columns..end].to_vec(),
                    is_wrapped: part + 1 < count,
                });
            }
        }
        let min_rows = self.rows.max(cursor.0 + 1);
        wrapped.resize(wrapped.len().max(min_rows), Row::default());
        self.lines = wrapped;
        self.columns = columns;
        self.base = self.lines.len() - self.rows;
        self.scrolled = self.base;
        self.cursor = match cursor.0.checked_sub(self.base) {
            Some(row) => (row, cursor.1),
            None => (0, 0),
        };
    }
}
