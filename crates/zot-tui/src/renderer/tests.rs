use super::*;

/// A terminal that displays what a renderer writes.
struct Screen {
    terminal: vt100::Parser,
    renderer: Renderer,
    height: u16,
}

impl Screen {
    fn new(height: u16, width: u16) -> Self {
        Self {
            terminal: vt100::Parser::new(
                height.try_into().unwrap(),
                width.try_into().unwrap(),
                1000,
            ),
            renderer: Renderer::new(Depth::True),
            height,
        }
    }

    fn draw(&mut self, finished: &[&str], live: &[&str]) -> usize {
        let lines = |texts: &[&str]| texts.iter().map(Line::plain).collect();
        let bytes = self.renderer.draw(
            Frame {
                finished: lines(finished),
                live: lines(live),
                cursor: live.last().map(|last| (live.len() - 1, last.len())),
                ..Frame::default()
            },
            usize::from(self.height),
        );
        self.terminal.process(bytes.as_bytes());
        bytes.len()
    }

    fn rows(&self) -> Vec<String> {
        let screen = self.terminal.screen();
        let rows = screen.rows(0, screen.size().1.get());
        let mut rows: Vec<String> = rows.map(|row| row.trim_end().to_owned()).collect();
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }

    /// Returns the scrollback and the screen.
    fn everything(&mut self) -> Vec<String> {
        let mut all = Vec::new();
        let width = self.terminal.screen().size().1.get();
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let mut offset = self.terminal.screen().scrollback();
        while offset > 0 {
            self.terminal.screen_mut().set_scrollback(offset);
            let first = self.terminal.screen().rows(0, width).next();
            all.extend(first);
            offset -= 1;
        }
        self.terminal.screen_mut().set_scrollback(0);
        all.extend(self.rows());
        all
    }
}

#[test]
fn finished_lines_scroll_up_and_the_live_part_stays_below() {
    let mut screen = Screen::new(5, 20);
    screen.draw(&[], &["> "]);
    assert_eq!(screen.rows(), [">"]);
    screen.draw(&["one", "two"], &["busy", "> x"]);
    assert_eq!(screen.rows(), ["one", "two", "busy", "> x"]);
    assert_eq!(screen.terminal.screen().cursor_position(), (3, 3));
    screen.draw(&["three", "four"], &["> "]);
    screen.draw(&["five"], &["> y"]);
    assert_eq!(
        screen.everything(),
        ["one", "two", "three", "four", "five", "> y"]
    );
}

#[test]
fn only_what_changed_is_written() {
    let mut screen = Screen::new(10, 40);
    screen.draw(&[], &["the first line", "the second line", "> "]);
    assert_eq!(
        screen.draw(&[], &["the first line", "the second line", "> "]),
        0
    );
    let bytes = screen.draw(&[], &["the first line", "another line", "> "]);
    assert!(bytes < 80, "{bytes}");
    assert_eq!(screen.rows(), ["the first line", "another line", ">"]);
}

#[test]
fn a_live_part_that_shrinks_leaves_nothing_behind() {
    let mut screen = Screen::new(10, 40);
    screen.draw(&["done"], &["a", "b", "c", "d", "> "]);
    screen.draw(&[], &["> z"]);
    assert_eq!(screen.rows(), ["done", "> z"]);
    screen.draw(&["more"], &["a", "> "]);
    assert_eq!(screen.rows(), ["done", "more", "a", ">"]);
}

#[test]
fn a_live_part_taller_than_the_screen_shows_its_end() {
    let mut screen = Screen::new(3, 10);
    screen.draw(&[], &["1", "2", "3", "4", "5"]);
    assert_eq!(screen.rows(), ["3", "4", "5"]);
    screen.draw(&[], &["1", "2", "3", "4", "5", "6"]);
    assert_eq!(screen.everything(), ["4", "5", "6"]);
    screen.draw(&["1", "2", "3", "4", "5", "6"], &["> "]);
    assert_eq!(screen.everything(), ["1", "2", "3", "4", "5", "6", ">"]);
}

#[test]
fn clearing_leaves_only_the_finished_lines() {
    let mut screen = Screen::new(6, 20);
    screen.draw(&["kept"], &["busy", "> "]);
    let bytes = screen.renderer.clear();
    screen.terminal.process(bytes.as_bytes());
    assert_eq!(screen.rows(), ["kept"]);
    assert!(!screen.terminal.screen().hide_cursor());
}

#[test]
fn an_image_has_its_rows_between_the_lines() {
    let mut screen = Screen::new(8, 20);
    screen.draw(&["one"], &["live"]);
    let frame = Frame {
        finished: ["two", "", "", "three"].iter().map(Line::plain).collect(),
        images: vec![(
            1,
            Drawing {
                rows: 2,
                columns: 4,
                preamble: "\x1b_Ga=t;AAAA\x1b\\".to_owned(),
                sequence: "\x1b_Ga=p\x1b\\".into(),
            },
        )],
        live: vec![Line::plain("live")],
        ..Frame::default()
    };
    let bytes = screen.renderer.draw(frame, 8);
    assert!(bytes.contains("\x1b_Ga=t;AAAA\x1b\\\x1b_Ga=p\x1b\\"));
    screen.terminal.process(bytes.as_bytes());
    assert_eq!(screen.rows(), ["one", "two", "", "", "three", "live"]);
}
