//! Questions of running tools: a form to fill in, or a page to open.
//!
//! The user sees who asks, reviews everything before it is sent, and can decline (the server hears
//! "no") or cancel (it hears that there was no decision). No page is opened without consent.

mod address;
mod field;
mod form;
mod format;
mod plain;
mod schema;
mod view;

use std::collections::VecDeque;

use serde_json::{Map, Value};
use zot_sdk::{Answer, JsonObject, Question, QuestionId, QuestionKind};

use super::action::{Action, Handled};
use super::{AgentEffect, Context, Effect, Key, KeyCode, TerminalEffect};
use crate::editor::Editor;

use address::Address;
use form::{Filled, Form};
pub(super) use view::frame;

/// The most questions that wait behind the one that is shown.
///
/// Limit: a further question is cancelled.
const MAX_SHOWN_QUESTIONS: usize = 32;

#[derive(Debug, Default)]
pub(crate) struct Questions {
    pub(crate) current: Option<Asked>,
    /// Calls that run in parallel ask in parallel: these are shown next.
    waiting: VecDeque<Asked>,
}

/// A question that waits for an answer.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) id: QuestionId,
    /// The call that asks.
    call: String,
    origin: String,
    message: String,
    body: Body,
    /// The first line on the screen.
    top: usize,
    /// The user has scrolled, so what receives the keys may be off the screen.
    is_scrolled: bool,
    /// How many lines a page has.
    page: usize,
    /// How many lines were typed, in a terminal that handles only lines.
    lines: usize,
}

#[derive(Debug, Clone)]
enum Body {
    Form(Form),
    Page(Address),
}

impl Asked {
    fn new(id: QuestionId, call: String, question: Question) -> Self {
        let body = match question.kind {
            QuestionKind::Form { schema } => Body::Form(Form::new(schema.as_str())),
            QuestionKind::Url { url } => Body::Page(Address::new(url)),
        };
        Self {
            id,
            call,
            origin: question.origin,
            message: question.message,
            body,
            top: 0,
            is_scrolled: false,
            page: 0,
            lines: 0,
        }
    }
}

impl Questions {
    /// Shows a question, after those that were asked before.
    pub(super) fn ask(&mut self, id: QuestionId, call: String, question: Question) -> Vec<Action> {
        let asked = Asked::new(id, call, question);
        match self.current {
            None => self.current = Some(asked),
            Some(_) if self.waiting.len() >= MAX_SHOWN_QUESTIONS => {
                return vec![answer(asked.id, Answer::Cancel)];
            }
            Some(_) => self.waiting.push_back(asked),
        }
        Vec::new()
    }

    /// Drops the questions of a call that has ended.
    pub(super) fn forget(&mut self, call: &str) {
        self.waiting.retain(|asked| asked.call != call);
        if self.current.take_if(|asked| asked.call == call).is_some() {
            self.current = self.waiting.pop_front();
        }
    }

    /// Drops all questions: the prompt has ended.
    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    /// Keeps what receives the keys on the screen.
    pub(super) fn lay_out(&mut self, context: &Context, draft: &Editor) {
        if let Some(asked) = &mut self.current {
            asked.lay_out(context, draft);
        }
    }

    /// Handles a key while a question is open. `is_typing` is whether the user is in the middle of a
    /// word in the editor, and does not mean to answer.
    pub(super) fn press(&mut self, key: &Key, is_typing: bool) -> Handled {
        let Some(asked) = &mut self.current else {
            return Handled::No;
        };
        if is_typing && !key.control && key.code != KeyCode::Escape {
            return match key.code {
                KeyCode::Enter => Handled::DONE,
                _ => Handled::No,
            };
        }
        match (key.control, key.code) {
            (true, KeyCode::Character('c')) => return Handled::Yes(vec![Action::Interrupt]),
            (true, KeyCode::Character('z')) => return Handled::effect(TerminalEffect::Suspend),
            (true, KeyCode::Character('l')) => return Handled::No,
            (_, KeyCode::Escape) => return self.answer(Answer::Cancel),
            (_, KeyCode::PageUp | KeyCode::PageDown) => {
                asked.scroll(key.code);
                return Handled::DONE;
            }
            _ => asked.is_scrolled = false,
        }
        match &mut asked.body {
            Body::Form(form) => match form.press(key) {
                Filled::NotYet => Handled::DONE,
                Filled::Declined => self.answer(Answer::Decline),
                Filled::Sent(values) => self.send(values),
            },
            Body::Page(_) if key.control || key.alt => Handled::DONE,
            Body::Page(_) => self.press_page(key),
        }
    }

    /// Handles a key while the user is asked to open a page.
    fn press_page(&mut self, key: &Key) -> Handled {
        let Some(Asked {
            body: Body::Page(address),
            ..
        }) = &self.current
        else {
            return Handled::DONE;
        };
        let url = address.url.clone();
        let can_open = address.host.is_some();
        match key.code {
            KeyCode::Character('o' | 'O') if can_open => {
                let open = Action::Effect(TerminalEffect::OpenPage(url).into());
                self.answer_after(open, Answer::Accept { content: None })
            }
            KeyCode::Character('y' | 'Y') if can_open => {
                self.answer(Answer::Accept { content: None })
            }
            KeyCode::Character('c' | 'C') => Handled::effect(TerminalEffect::Copy(url)),
            KeyCode::Character('n' | 'N') => self.answer(Answer::Decline),
            _ => Handled::DONE,
        }
    }

    /// Handles a paste while a question is open.
    pub(super) fn paste(&mut self, text: &str) -> bool {
        match &mut self.current {
            None => return false,
            Some(asked) => {
                asked.is_scrolled = false;
                if let Body::Form(form) = &mut asked.body {
                    form.paste(text);
                }
            }
        }
        true
    }

    fn send(&mut self, values: Map<String, Value>) -> Handled {
        let content = JsonObject::parse(&Value::Object(values).to_string());
        match content {
            Ok(content) => self.answer(Answer::Accept {
                content: Some(content),
            }),
            Err(error) => Handled::Yes(vec![Action::error(error.to_string())]),
        }
    }

    fn answer(&mut self, given: Answer) -> Handled {
        let Some(asked) = self.current.take() else {
            return Handled::No;
        };
        self.current = self.waiting.pop_front();
        let mut actions = vec![answer(asked.id, given.clone())];
        actions.extend(match given {
            Answer::Accept { .. } => None,
            Answer::Decline => Some(Action::remark(format!(
                "declined: {} was told",
                asked.origin
            ))),
            Answer::Cancel => Some(Action::remark(format!(
                "cancelled: {} was told",
                asked.origin
            ))),
        });
        Handled::Yes(actions)
    }

    fn answer_after(&mut self, first: Action, given: Answer) -> Handled {
        match self.answer(given) {
            Handled::Yes(actions) => Handled::Yes(std::iter::once(first).chain(actions).collect()),
            Handled::No => Handled::No,
        }
    }
}

fn answer(id: QuestionId, answer: Answer) -> Action {
    Action::Effect(Effect::Agent(AgentEffect::Answer { id, answer }))
}
