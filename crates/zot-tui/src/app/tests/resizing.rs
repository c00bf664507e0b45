//! Resized windows, in a terminal that resizes the way real ones do: every line remains exactly once.

use proptest::prelude::*;

use super::*;
use crate::renderer::Narrowing;
use crate::renderer::model::{Model, Rules};

const SHELL_LINES: usize = 12;

/// The chat in a terminal that can be resized.
struct Resizable {
    app: App,
    renderer: Renderer,
    terminal: Model,
    now_ms: u64,
    /// How many numbered lines the model has written.
    written: usize,
    is_working: bool,
}

#[derive(Debug, Clone)]
enum Step {
    Rows(usize),
    Columns(usize),
    /// This many lines of an answer, with the text before and after each.
    Answer(usize, (&'static str, &'static str)),
    EndTurn,
    Key(KeyCode),
    Draft(usize),
    Panel(usize),
    Tool(usize),
    Redraw,
}

impl Resizable {
    fn new(rules: Rules, columns: usize, rows: usize) -> Self {
        let info = Info {
            model: "test-model".to_owned(),
            cwd: "/work".to_owned(),
            version: "1".to_owned(),
            ..Info::default()
        };
        let mut terminal = Model::new(rules, columns, rows);
        for line in 1..=SHELL_LINES {
            terminal.write(&format!("shell {line}\r\n"));
        }
        let mut chat = Self {
            app: App::new(Theme::DARK, columns, rows, info, History::default()),
            renderer: Renderer::new(Depth::None),
            terminal,
            now_ms: 1_000,
            written: 0,
            is_working: false,
        };
        chat.draw();
        chat
    }

    fn draw(&mut self) {
        let (_, rows) = self.app.size();
        let frame = self.app.frame(self.renderer.above());
        let bytes = self.renderer.draw(frame, rows);
        self.terminal.write(&bytes);
    }

    fn input(&mut self, input: Input) {
        self.now_ms += 40;
        self.app.update(self.now_ms, input);
        self.draw();
    }

    fn event(&mut self, event: serde_json::Value) {
        self.input(reported::input(event));
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.terminal.resize(columns, rows);
        let cursor = Some(self.terminal.cursor());
        self.renderer
            .relocate(cursor, (columns, rows), Narrowing::Reflows);
        self.input(Input::Resized { columns, rows });
    }

    fn answer(&mut self, lines: usize, (before, after): (&str, &str)) {
        if !self.is_working {
            self.is_working = true;
            self.input(Input::Prompt(Prompt::typed("go")));
            self.event(json!({"type": "assistant_start"}));
        }
        self.event(json!({"type": "tool_result", "id": "t", "is_error": false, "content": []}));
        // Separates it from the previous block.
        self.event(json!({"type": "text_delta", "delta": "\n\n"}));
        for _ in 0..lines {
            self.written += 1;
            let number = self.written;
            let before = before.replace('N', &number.to_string());
            self.event(json!({"type": "text_delta", "delta": format!("{before}li")}));
            self.event(
                json!({"type": "text_delta", "delta": format!("ne number {number}.{after}")}),
            );
        }
    }

    fn end_turn(&mut self) {
        if std::mem::take(&mut self.is_working) {
            self.event(json!({"type": "assistant_message", "time": "", "content": []}));
            self.event(json!({"type": "done"}));
            self.input(Input::WorkEnded);
        }
    }

    fn apply(&mut self, step: Step) {
        let (columns, rows) = self.app.size();
        match step {
            Step::Rows(rows) => self.resize(columns, rows),
            Step::Columns(columns) => self.resize(columns, rows),
            Step::Answer(lines, around) => self.answer(lines, around),
            Step::EndTurn => self.end_turn(),
            Step::Key(code) => self.input(Input::Key(Key::plain(code))),
            Step::Draft(lines) => {
                self.input(Input::Insert("words of a draft\n".repeat(lines)));
            }
            Step::Panel(lines) => self.input(Input::Panel(PanelInput::Opened(PanelView {
                extension: "e".to_owned(),
                id: "p".to_owned(),
                title: "panel".to_owned(),
                lines: vec!["in the panel".to_owned(); lines],
                footer: String::new(),
            }))),
            // It would end the running one.
            Step::Tool(_) if !self.app.transcript.tools.is_empty() => {}
            Step::Tool(lines) => {
                let output = "printed\n".repeat(lines);
                // Text before a call is final.
                self.event(json!({"type": "tool_use_start", "id": "t", "name": "bash"}));
                self.event(json!({"type": "tool_call", "id": "t", "name": "bash",
                    "args": {"command": "work"}}));
                self.event(json!({"type": "tool_progress", "id": "t", "text": output}));
            }
            Step::Redraw => self.input(Input::Theme(Box::new(match self.app.context.theme {
                Theme::DARK => Theme::LIGHT,
                _ => Theme::DARK,
            }))),
        }
    }

    /// Returns how many rows end with `text`.
    fn count(rows: &[String], text: &str) -> usize {
        rows.iter().filter(|row| row.ends_with(text)).count()
    }

    fn check(&self, min_count: usize) -> Result<(), TestCaseError> {
        let rows = self.terminal.everything();
        for line in 1..=SHELL_LINES {
            let found = rows.iter().filter(|row| **row == format!("shell {line}"));
            prop_assert_eq!(found.count(), 1, "shell {}: {:#?}", line, rows);
        }
        for number in 1..=self.written {
            let found = Self::count(&rows, &format!("line number {number}."));
            prop_assert!(
                (min_count..=1).contains(&found),
                "{number}: {found} {rows:#?}"
            );
        }
        Ok(())
    }
}

fn steps(rows: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Step>> {
    let around = prop_oneof![
        Just(("", "\n\n")),
        Just(("N. ", "\n")),
        Just(("- ", "\n")),
        Just(("```\n", "\n```\n")),
    ];
    let keys = [
        KeyCode::Character('/'),
        KeyCode::Escape,
        KeyCode::Up,
        KeyCode::Backspace,
    ];
    let step = prop_oneof![
        6 => rows.prop_map(Step::Rows),
        4 => (1..20_usize, around).prop_map(|(lines, around)| Step::Answer(lines, around)),
        2 => Just(Step::EndTurn),
        2 => prop::sample::select(keys.to_vec()).prop_map(Step::Key),
        1 => (1..12_usize).prop_map(Step::Draft),
        1 => (1..30_usize).prop_map(Step::Panel),
        1 => (1..12_usize).prop_map(Step::Tool),
        1 => Just(Step::Redraw),
    ];
    prop::collection::vec(step, 1..30)
}

fn check(rules: Rules, steps: Vec<Step>) -> Result<(), TestCaseError> {
    let mut chat = Resizable::new(rules, 60, 30);
    for step in steps {
        chat.apply(step);
        chat.check(0)?;
    }
    for _ in 0..3 {
        chat.apply(Step::Key(KeyCode::Escape));
    }
    chat.end_turn();
    chat.check(1)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(96) })]

    #[test]
    fn any_heights_keep_every_line_once_in_tmux(steps in steps(8..40)) {
        check(Rules::Tmux, steps)?;
    }

    #[test]
    fn any_heights_keep_every_line_once_in_xterm_js(steps in steps(8..40)) {
        check(Rules::XtermJs, steps)?;
    }

    #[test]
    fn any_widths_keep_every_line_once(
        steps in steps(20..40),
        widths in prop::collection::vec(40..100_usize, 1..6),
    ) {
        let mut steps = steps;
        let distance = (steps.len() / widths.len()).max(1);
        for (index, width) in widths.into_iter().enumerate() {
let position = (index * (distance + 1)).min(steps.len());
            steps.insert(position, Step::Columns(width));
        }
        check(Rules::Tmux, steps)?;
    }
}

#[test]
fn losing_ten_rows_at_once_keeps_the_end_of_the_answer_on_the_screen() {
    for rules in [Rules::Tmux, Rules::XtermJs] {
        let mut chat = Resizable::new(rules, 60, 30);
        chat.answer(80, ("", "\n\n"));
        chat.end_turn();
        chat.resize(60, 20);
        chat.check(1).unwrap();
        let screen = chat.terminal.screen();
        assert_eq!(screen.len(), 20);
        assert_eq!(
            Resizable::count(&screen, "line number 80."),
            1,
            "{screen:#?}"
        );
        assert_eq!(screen[19], "test-model", "{screen:#?}");
    }
}

#[test]
fn a_terminal_that_does_not_report_its_cursor_loses_no_line() {
    for rules in [Rules::Tmux, Rules::XtermJs] {
        let mut chat = Resizable::new(rules, 60, 30);
        chat.answer(80, ("", "\n\n"));
        chat.end_turn();
        for rows in [20, 35, 12] {
            chat.terminal.resize(60, rows);
            chat.renderer.relocate(None, (60, rows), Narrowing::Reflows);
            chat.input(Input::Resized { columns: 60, rows });
            chat.check(1).unwrap();
        }
    }
}
