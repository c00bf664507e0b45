//! Questions in a terminal that handles only lines: one field at a time.

use super::field::{Entry, Field};
use super::form::Stop;
use super::{Asked, Body, Filled, Questions};
use crate::app::action::{Action, Handled};
use crate::app::{Key, KeyCode};
use crate::text::reveal;
use zot_sdk::Answer;

const LEAVE: &str = "/decline says no · /cancel leaves it open";

impl Asked {
    /// Names what is asked now; changes with every line that was typed.
    pub(crate) fn line_key(&self) -> (String, usize) {
        (self.id.to_string(), self.lines)
    }

    /// Returns what to print before the user types a line.
    pub(crate) fn line_prompt(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.lines == 0 {
            lines.push(String::new());
            lines.push(format!("{} asks:", reveal(&self.origin)));
            lines.extend(
                self.message
                    .lines()
                    .map(|line| format!("  {}", reveal(line))),
            );
        }
        match &self.body {
            Body::Page(address) => {
                lines.push(format!("  {}", reveal(&address.url)));
                let host = address.host.as_deref().map(reveal);
                lines.extend(host.map(|host| format!("  it leads to {host}")));
                lines.extend(
                    address
                        .warnings
                        .iter()
                        .map(|text| format!("  careful: {text}")),
                );
                lines.push("o open it here · y you have opened it · n no · /cancel".to_owned());
            }
            Body::Form(form) => {
                if let Some(obstacle) = &form.obstacle {
                    lines.push(format!("  {obstacle}"));
                }
                match (form.current(), form.stop) {
                    (Some(field), _) => lines.extend(field_lines(field)),
                    (None, Stop::Send) => {
                        lines.extend(form.fields.iter().filter_map(|field| {
                            let value = field.value().ok().flatten()?;
                            Some(format!(
                                "  {}: {}",
                                reveal(&field.title),
                                reveal(&value.to_string())
                            ))
                        }));
                        lines.push("y send this · n no · /cancel".to_owned());
                    }
                    (None, _) => lines.push("n no · /cancel".to_owned()),
                }
            }
        }
        lines
    }
}

fn field_lines(field: &Field) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(
        field
            .problem
            .as_deref()
            .map(|problem| format!("  {}", reveal(problem))),
    );
    let need = if field.is_required { "" } else { " (optional)" };
    let mut title = format!("{}{need}", reveal(&field.title));
    if let Some(expected) = field.expected() {
        title.push_str(&format!(", {expected}"));
    }
    if !field.description.is_empty() {
        title.push_str(&format!(": {}", reveal(&field.description)));
    }
    lines.push(title);
    let (options, is_chosen): (_, Box<dyn Fn(usize) -> bool>) = match &field.entry {
        Entry::Text { editor, .. } => {
            if !editor.is_empty() {
                lines.push(format!("  enter keeps {}", reveal(&editor.content())));
            }
            lines.push(LEAVE.to_owned());
            return lines;
        }
        Entry::One { options, chosen } => (options, Box::new(|index| Some(index) == *chosen)),
        Entry::Several {
            options, chosen, ..
        } => (options, Box::new(|index| chosen.contains(&index))),
    };
    for (index, option) in options.iter().enumerate() {
        let mark = if is_chosen(index) { "*" } else { " " };
        lines.push(format!("  {mark} {}  {}", index + 1, reveal(&option.title)));
    }
    lines.push(LEAVE.to_owned());
    lines
}

impl Questions {
    /// Handles a line.
    pub(in crate::app) fn enter_line(&mut self, line: &str) -> Vec<Action> {
        let Some(asked) = &mut self.current else {
            return Vec::new();
        };
        asked.lines += 1;
        let line = line.trim();
        let handled = match (line, &mut asked.body) {
            ("/cancel", _) => self.answer(Answer::Cancel),
            ("/decline", _) => self.answer(Answer::Decline),
            (_, Body::Page(_)) => match line.to_lowercase().as_str() {
                "o" | "open" => self.press_page(&Key::plain(KeyCode::Character('o'))),
                "y" | "yes" => self.press_page(&Key::plain(KeyCode::Character('y'))),
                "n" | "no" => self.press_page(&Key::plain(KeyCode::Character('n'))),
                _ => Handled::DONE,
            },
            (_, Body::Form(form)) => match form.enter_line(line) {
                Filled::NotYet => Handled::DONE,
                Filled::Declined => self.answer(Answer::Decline),
                Filled::Sent(values) => self.send(values),
            },
        };
        match handled {
            Handled::Yes(actions) => actions,
            Handled::No => Vec::new(),
        }
    }
}
