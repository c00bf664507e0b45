//! Folding, other colours and another size: what is redrawn and what is left alone.

use super::*;
use crate::text::Line;

impl Chat {
    fn finish_tool(&mut self, id: &str, lines: usize) {
        let output: String = (1..=lines).map(|line| format!("{id} {line}\n")).collect();
        self.event(
            json!({"type": "tool_call", "id": id, "name": "bash", "args": {"command": "work"}}),
        );
        self.event(json!({"type": "tool_result", "id": id, "is_error": false,
            "content": [{"type": "text", "text": output}]}));
    }

    fn finish_answer(&mut self, text: &str) {
        self.delta(text);
        self.event(json!({"type": "assistant_message", "time": "", "content": []}));
    }

    /// Returns how often a line appears, on the screen or in the scrollback.
    fn count(&mut self, line: &str) -> usize {
        let all = self.everything();
        let plain = |row: &str| row.trim_start_matches("│ ").trim().to_owned();
        all.iter().filter(|row| plain(row) == line).count()
    }
}

#[test]
fn unfolding_shows_everything_that_was_hidden_once() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.finish_tool("c1", 60);
    chat.control('o');
    for line in 1..=60 {
        assert_eq!(chat.count(&format!("c1 {line}")), 1, "line {line}");
    }
    assert_eq!(chat.count("❯ go"), 1);
    assert_eq!(chat.count("/help for commands and keys"), 1);
    assert!(chat.rows().contains(&"│ c1 60".to_owned()));
}

#[test]
fn folding_again_shows_the_short_form_on_the_screen() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.finish_tool("c1", 12);
    chat.control('o');
    assert!(
        chat.rows().contains(&"│ c1 6".to_owned()),
        "{:?}",
        chat.rows()
    );
    chat.control('o');
    let rows = chat.rows();
    assert!(
        rows.iter().any(|row| row.contains("more lines (ctrl+o)")),
        "{rows:?}"
    );
    assert!(!rows.contains(&"│ c1 6".to_owned()), "{rows:?}");
}

#[test]
fn lines_that_scrolled_away_are_not_rewritten() {
    let mut chat = Chat::new(80, 24);
    chat.prompt("go");
    chat.finish_tool("c1", 60);
    chat.control('o');
    let before = chat.everything();
    chat.control('o');
    assert_eq!(chat.everything(), before);
    // Later results are folded.
    chat.finish_tool("c2", 60);
    assert_eq!(chat.count("c2 30"), 0);
}

#[test]
fn output_above_the_chat_survives_unfolding() {
    let mut chat = Chat::new(80, 24);
    chat.terminal = vt100::Parser::new(24.try_into().unwrap(), 80.try_into().unwrap(), 5_000);
    chat.terminal.process(b"$ make\r\nall is well\r\n");
    chat.renderer = Renderer::new(Depth::None);
    let info = chat.app.context.info.clone();
    chat.app = App::new(Theme::DARK, 80, 24, info, History::default());
    chat.draw();
    chat.prompt("go");
    chat.finish_tool("c1", 9);
    chat.control('o');
    let rows = chat.rows();
    assert_eq!(rows[..2], ["$ make", "all is well"]);
    assert_eq!(chat.count("c1 9"), 1);
}

#[test]
fn an_answer_that_has_partly_left_the_screen_is_not_written_twice() {
    let mut chat = Chat::new(40, 10);
    chat.prompt("go");
    let text: String = (1..=30).map(|line| format!("- point {line}\n")).collect();
    chat.finish_answer(&text);
    chat.finish_tool("c1", 20);
    chat.control('o');
    for line in 1..=30 {
        assert_eq!(chat.count(&format!("• point {line}")), 1, "point {line}");
    }
}

#[test]
fn unfolding_in_the_middle_of_an_answer_loses_no_line() {
    let mut chat = Chat::new(40, 24);
    chat.prompt("go");
    chat.finish_tool("c1", 20);
    chat.delta("one\n\ntwo\n\nthree");
    chat.control('o');
    chat.delta(" and four\n\n");
    chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    for line in ["one", "two", "three and four"] {
        assert_eq!(chat.count(line), 1, "{line}: {:?}", chat.everything());
    }
    assert_eq!(chat.count("c1 10"), 1);
}

#[test]
fn an_item_folded_above_the_screen_opens_in_the_pager() {
    let mut chat = Chat::new(40, 10);
    chat.prompt("go");
    chat.finish_tool("c1", 20);
    chat.finish_answer("one\n\ntwo\n\nthree\n\nfour\n\nfive");
    let before = chat.everything();
    chat.control('o');
    let (lines, _) = chat.app.pager_frame().unwrap();
    let lines: Vec<String> = lines.iter().map(Line::text).collect();
    assert_eq!(lines[1..4], ["╭ bash  work", "│ c1 1", "│ c1 2"]);
    assert_eq!(lines.len(), 10);
    // The pager receives the keys.
    chat.write("/c1 20");
    chat.press(KeyCode::Enter);
    let (lines, _) = chat.app.pager_frame().unwrap();
    assert!(lines.iter().any(|line| line.text() == "│ c1 20"));
    chat.write("q");
    assert!(chat.app.pager_frame().is_none());
    assert_eq!(chat.everything(), before);
    assert!(chat.rows().contains(&"❯".to_owned()), "{:?}", chat.rows());
}

#[test]
fn a_question_closes_the_transcript() {
    let mut chat = Chat::new(40, 10);
    chat.prompt("go");
    chat.press(KeyCode::PageUp);
    assert!(chat.app.pager_frame().is_some());
    chat.event(json!({"type": "tool_confirm", "id": "c1", "name": "bash",
        "args": {"command": "rm x"}}));
    assert!(chat.app.pager_frame().is_none());
}

#[test]
fn other_colours_change_nothing_but_colours() {
    let mut chat = Chat::new(40, 10);
    chat.prompt("go");
    chat.finish_answer("one\n\ntwo\n\nthree\n\nfour\n\nfive");
    let before = chat.everything();
    chat.input(Input::Theme(Box::new(Theme::LIGHT)));
    assert_eq!(chat.everything(), before);
}

#[test]
fn a_new_width_rewrites_the_conversation_if_configured() {
    let mut chat = Chat::new(80, 24);
    chat.app.transcript.keeps_scrollback = false;
    chat.prompt("go");
    for turn in 1..=20 {
        chat.finish_answer(&format!("answer {turn} {}\n", "word ".repeat(12)));
    }
    let (rows, columns) = (12_u16.try_into().unwrap(), 30_u16.try_into().unwrap());
    chat.terminal.screen_mut().set_size(rows, columns);
    chat.input(Input::Resized {
        columns: 30,
        rows: 12,
    });
    let all = chat.everything();
    assert_eq!(all[0], "zot 1  test-model · /work");
    for turn in 1..=20 {
        let start = format!("answer {turn} ");
        let found = all.iter().filter(|row| row.starts_with(&start)).count();
        assert_eq!(found, 1, "{start}");
    }
    assert!(all.iter().all(|row| row.chars().count() <= 30), "{all:?}");
}

#[test]
fn a_new_width_clears_the_scrollback_only_if_configured() {
    for (keeps, clears) in [(false, true), (true, false)] {
        let mut chat = Chat::new(80, 24);
        chat.app.transcript.keeps_scrollback = keeps;
        chat.prompt("go");
        chat.app.update(
            chat.now_ms,
            Input::Resized {
                columns: 50,
                rows: 24,
            },
        );
        let bytes = chat
            .renderer
            .draw(chat.app.frame(chat.renderer.above()), 24);
        assert_eq!(bytes.contains("\x1b[3J"), clears, "{bytes:?}");
        assert_eq!(bytes.contains("❯ go"), clears, "{bytes:?}");
    }
}

#[test]
fn a_very_long_conversation_notes_where_its_beginning_is() {
    let mut chat = Chat::new(80, 24);
    chat.app.transcript.keeps_scrollback = false;
    for _ in 0..40 {
        chat.app.note("x".repeat(100_000));
    }
    let bytes: usize = (0..chat.app.transcript.log.len())
        .filter_map(|index| chat.app.transcript.log.get(index))
        .map(|entry| entry.item.bytes())
        .sum();
    assert!(bytes <= 2 * 1024 * 1024, "{bytes}");
    chat.app.update(
        chat.now_ms,
        Input::Resized {
            columns: 50,
            rows: 24,
        },
    );
    let frame = chat.app.frame(0);
    let first: String = frame.finished[0]
        .0
        .iter()
        .map(|span| span.text.as_str())
        .collect();
    assert!(first.starts_with("… the beginning is"), "{first}");
}

#[test]
fn a_note_in_the_middle_of_an_answer_stays_there() {
    let mut chat = Chat::new(40, 20);
    chat.prompt("go");
    chat.delta("one\n\ntwo\n\nthree");
    chat.input(Input::note("in between"));
    chat.delta("\n\nfour\n\nfive");
    let before = chat.everything();
    chat.input(Input::Theme(Box::new(Theme::LIGHT)));
    assert_eq!(chat.everything(), before);
    chat.event(json!({"type": "assistant_message", "time": "", "content": []}));
    chat.input(Input::Theme(Box::new(Theme::DARK)));
    for line in ["one", "two", "· in between", "three", "four", "five"] {
        assert_eq!(chat.count(line), 1, "{line}: {:?}", chat.everything());
    }
}
