//! A form: the field that receives the keys, and what is sent.

use serde_json::{Map, Value};

use super::field::{Entry, Field, Step};
use super::schema::{self, SchemaError};
use crate::app::{Key, KeyCode};

#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(super) fields: Vec<Field>,
    /// Why it can only be declined or cancelled.
    pub(super) obstacle: Option<SchemaError>,
    pub(super) stop: Stop,
    /// Whether each option of the current field is shown on a line of its own.
    pub(super) is_stacked: bool,
}

/// Where the keys go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    Field(usize),
    Send,
    Decline,
}

/// What a key did to a form.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Filled {
    NotYet,
    Sent(Map<String, Value>),
    Declined,
}

impl Form {
    pub(super) fn new(schema: &str) -> Self {
        let (fields, obstacle) = match schema::fields(schema) {
            Ok(fields) => (fields, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let mut form = Self {
            fields,
            obstacle,
            stop: Stop::Decline,
            is_stacked: false,
        };
        form.stop = form.stops().next().unwrap_or(Stop::Decline);
        form
    }

    /// Returns whether something can be typed into it.
    pub(super) fn takes_text(&self) -> bool {
        let mut fields = self.fields.iter();
        fields.any(|field| matches!(field.entry, Entry::Text { .. }))
    }

    fn stops(&self) -> impl Iterator<Item = Stop> + use<> {
        let fields = (0..self.fields.len()).map(Stop::Field);
        let send = self.obstacle.is_none().then_some(Stop::Send);
        fields.chain(send).chain([Stop::Decline])
    }

    pub(super) fn current(&self) -> Option<&Field> {
        match self.stop {
            Stop::Field(index) => self.fields.get(index),
            Stop::Send | Stop::Decline => None,
        }
    }

    fn current_mut(&mut self) -> Option<&mut Field> {
        match self.stop {
            Stop::Field(index) => self.fields.get_mut(index),
            Stop::Send | Stop::Decline => None,
        }
    }

    /// Moves to the next or previous stop, and around. A value that cannot be sent is pointed out when
    /// its field is left.
    fn advance(&mut self, by: isize) {
        if let Some(field) = self.current_mut() {
            // An empty field is not a mistake yet.
            field.problem = match field.value() {
                Err(problem) if !field.is_blank() => Some(problem),
                _ => None,
            };
        }
        let stops: Vec<Stop> = self.stops().collect();
        let at = stops.iter().position(|stop| *stop == self.stop);
        let next = (at.unwrap_or(0) + stops.len()).wrapping_add_signed(by) % stops.len();
        self.stop = stops.get(next).copied().unwrap_or(Stop::Decline);
    }

    /// Moves among options below one another. Returns whether the form stays in the field: it is left
    /// beyond the last option, and before the first unless there is nothing above it.
    fn step(&mut self, step: Step) -> bool {
        if !self.is_stacked {
            return false;
        }
        let is_top = step == Step::Up && self.stop == Stop::Field(0);
        self.current_mut().is_some_and(|field| field.step(step)) || is_top
    }

    pub(super) fn press(&mut self, key: &Key) -> Filled {
        match (key.code, self.stop) {
            (KeyCode::Up, _) if self.step(Step::Up) => {}
            (KeyCode::Down, _) if self.step(Step::Down) => {}
            (KeyCode::Up, _) => self.advance(-1),
            (KeyCode::Tab, _) if key.shift => self.advance(-1),
            (KeyCode::Down | KeyCode::Tab, _) => self.advance(1),
            (KeyCode::Character('s'), _) if key.control => return self.send(),
            (KeyCode::Enter, Stop::Field(_)) if !key.alt && !key.shift => self.advance(1),
            (KeyCode::Enter, Stop::Send) => return self.send(),
            (KeyCode::Enter, Stop::Decline) => return Filled::Declined,
            _ => {
                if let Some(field) = self.current_mut() {
                    field.press(key);
                }
            }
        }
        Filled::NotYet
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(field) = self.current_mut() {
            field.paste(text);
        }
    }

    /// Returns all values, or moves to the first that cannot be sent.
    pub(super) fn send(&mut self) -> Filled {
        if self.obstacle.is_some() {
            return Filled::NotYet;
        }
        let mut values = Map::new();
        let mut first_problem = None;
        for (index, field) in self.fields.iter_mut().enumerate() {
            match field.value() {
                Ok(value) => values.extend(value.map(|value| (field.name.clone(), value))),
                Err(problem) => {
                    field.problem = Some(problem);
                    first_problem.get_or_insert(index);
                }
            }
        }
        match first_problem {
            Some(index) => {
                self.stop = Stop::Field(index);
                Filled::NotYet
            }
            None => Filled::Sent(values),
        }
    }

    /// Handles a line, in a terminal that handles only lines.
    pub(super) fn enter_line(&mut self, line: &str) -> Filled {
        let Some(field) = self.current_mut() else {
            return match (line, self.stop) {
                ("y" | "yes", Stop::Send) => self.send(),
                ("n" | "no", _) => Filled::Declined,
                _ => Filled::NotYet,
            };
        };
        field.set_line(line);
        if field.problem.is_none() {
            field.problem = field.value().err();
        }
        if field.problem.is_none() {
            self.advance(1);
        }
        Filled::NotYet
    }
}
