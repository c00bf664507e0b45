//! The chat in a terminal that handles only lines: no escape sequences are written, answers are
//! printed as they arrive, and the user answers questions with a line.

use std::io;

use zot_sdk::AgentEvent;

use super::{Chat, Ending};
use crate::app::{Asked, Input, Key, KeyCode, StepLimit, ToolState, step_count};
use crate::text::{clean, reveal};

/// How many choices are printed.
///
/// Limit: in plain mode, more choices are not printed.
const MAX_LISTED_CHOICES: usize = 40;

const ANSWERS: &str = "y yes · n no (n REASON tells the model why) · e always exactly this call · a always this \
                       tool · s everything from now on";

const PROJECT_ANSWERS: &str = "y yes, as long as the file stays the same · n never · enter not now";

const STEP_ANSWERS: &str = "y yes · a yes, without a limit for this prompt · n no, stop here";

#[derive(Default)]
pub(super) struct Plain {
    /// The next output continues the same line.
    is_mid_line: bool,
    /// An answer is being printed.
    is_answering: bool,
    /// The prompt was printed.
    has_prompted: bool,
    /// The id of the call that the printed question is about.
    question: String,
    /// The question of a tool that was printed, and how many lines it has been answered with.
    asked: Option<(String, usize)>,
    /// The question about the project's servers was printed.
    has_asked_for_servers: bool,
    /// The question about the step limit was printed.
    has_asked_for_steps: bool,
    /// States of servers that were announced.
    servers: Vec<String>,
    /// Calls that were announced.
    announced: Vec<String>,
    remark: String,
    /// Lines that ended with a backslash and are continued by the next one.
    continued: String,
}

impl Chat {
    /// Returns the part of an answer to print immediately.
    pub(super) fn delta_to_print(&self, input: &Input) -> Option<String> {
        match (&self.plain, input) {
            (Some(_), Input::Agent(AgentEvent::TextDelta(delta))) => Some(delta.clone()),
            _ => None,
        }
    }

    /// Prints a delta after all finished lines.
    pub(super) fn print_delta(&mut self, delta: &str) -> io::Result<()> {
        let mut out = self.finished_text();
        let Some(plain) = &mut self.plain else {
            return Ok(());
        };
        if !std::mem::replace(&mut plain.is_answering, true) {
            out.push('\n');
        }
        for (index, line) in delta.split('\n').enumerate() {
            if index > 0 {
                out.push('\n');
            }
            out.push_str(&clean(line));
        }
        plain.is_mid_line = !out.ends_with('\n');
        plain.has_prompted = false;
        self.terminal.write(out.as_bytes())
    }

    /// Prints what is new, and the open question.
    pub(super) fn print(&mut self) -> io::Result<()> {
        let mut out = self.finished_text();
        self.push_panels(&mut out);
        self.push_state(&mut out);
        match out.is_empty() {
            true => Ok(()),
            false => self.terminal.write(out.as_bytes()),
        }
    }

    /// Returns finished lines as text.
    fn finished_text(&mut self) -> String {
        let frame = self.app.frame(0);
        self.app.pager = None;
        let mut out = String::new();
        if !frame.finished.is_empty() {
            self.end_line(&mut out);
        }
        for line in &frame.finished {
            out.push_str(line.text().trim_end());
            out.push('\n');
        }
        out
    }

    /// Ends the current line.
    fn end_line(&mut self, out: &mut String) {
        if let Some(plain) = &mut self.plain {
            if std::mem::take(&mut plain.is_mid_line) {
                out.push('\n');
            }
            plain.is_answering = false;
            plain.has_prompted = false;
        }
    }

    fn push_state(&mut self, out: &mut String) {
        let remark = self.app.status.remark().map(clean);
        let remark = remark.unwrap_or_default();
        let is_new = self
            .plain
            .as_ref()
            .is_some_and(|plain| plain.remark != remark);
        if is_new && !remark.is_empty() {
            self.push_line(out, &remark);
        }
        if let Some(plain) = &mut self.plain {
            plain.remark = remark;
        }
        self.push_servers(out);
        self.push_calls(out);
        self.push_choices(out);
        self.push_question(out);
        self.push_step_question(out);
        self.push_asked(out);
        self.push_project(out);
        let is_idle = !self.app.status.is_working()
            && self.app.composer.shell.running.is_none()
            && self.app.approvals.current.is_none()
            && self.app.questions.current.is_none()
            && self.app.mcp.project.is_none();
        let has_prompted = self.plain.as_ref().is_some_and(|plain| plain.has_prompted);
        if is_idle && !has_prompted {
            self.end_line(out);
            out.push_str("\n> ");
            if let Some(plain) = &mut self.plain {
                plain.has_prompted = true;
                plain.is_mid_line = true;
                plain.announced.clear();
            }
        }
    }

    fn push_line(&mut self, out: &mut String, line: &str) {
        self.end_line(out);
        out.push_str(line);
        out.push('\n');
    }

    /// Announces MCP servers that have started or failed.
    fn push_servers(&mut self, out: &mut String) {
        let Some(plain) = &self.plain else { return };
        let states = self
            .app
            .mcp
            .servers
            .iter()
            .filter(|server| server.is_settled());
        let states: Vec<String> = states
            .map(|server| format!("MCP server {}: {}", server.name, server.describe()))
            .collect();
        let is_new = |state: &&String| !plain.servers.contains(*state);
        let new: Vec<String> = states.iter().filter(is_new).cloned().collect();
        for line in new {
            self.push_line(out, &clean(&line));
        }
        if let Some(plain) = &mut self.plain {
            plain.servers = states;
        }
    }

    /// Announces running calls.
    fn push_calls(&mut self, out: &mut String) {
        let Some(plain) = &self.plain else { return };
        let tools = self.app.transcript.tools.iter();
        let new = tools
            .filter(|tool| tool.state == ToolState::Running && !plain.announced.contains(&tool.id));
        let new: Vec<(String, String)> = new
            .map(|tool| {
                let subject = tool.arguments.subject().lines().next().unwrap_or_default();
                let line = format!("running {}  {}", clean(&tool.name), clean(subject));
                (tool.id.clone(), line)
            })
            .collect();
        for (id, line) in new {
            self.push_line(out, line.trim_end());
            if let Some(plain) = &mut self.plain {
                plain.announced.push(id);
            }
        }
    }

    /// Prints the choices of a list.
    fn push_choices(&mut self, out: &mut String) {
        if let Some(list) = self.app.picker.take_list() {
            let choices: Vec<String> = list
                .choices()
                .iter()
                .take(MAX_LISTED_CHOICES)
                .map(|choice| format!("  {}  {}", clean(choice.name), clean(choice.description)))
                .collect();
            for choice in choices {
                self.push_line(out, choice.trim_end());
            }
            self.push_line(out, "type the command followed by one of these");
        }
    }

    /// Prints panels of extensions and closes them, since they receive no keys here.
    fn push_panels(&mut self, out: &mut String) {
        for panel in self.app.panels.take_all() {
            for line in std::iter::once(&panel.title).chain(&panel.lines) {
                self.push_line(out, &clean(line));
            }
            self.close_panel(&panel.extension, panel.id);
        }
    }

    /// Returns the line end to print before the output of the next program.
    pub(super) fn last_line_end(&self) -> &'static str {
        match &self.plain {
            Some(plain) if plain.is_mid_line => "\n",
            _ => "",
        }
    }

    fn push_question(&mut self, out: &mut String) {
        let Some(approval) = &self.app.approvals.current else {
            return;
        };
        let id = approval.id.clone();
        if self
            .plain
            .as_ref()
            .is_some_and(|plain| plain.question == id)
        {
            return;
        }
        let mut lines = vec![
            String::new(),
            format!("may zot run {}?", clean(&approval.tool)),
        ];
        lines.extend(
            approval
                .lines
                .iter()
                .map(|line| line.text().trim_end().to_owned()),
        );
        lines.push(ANSWERS.to_owned());
        for line in lines {
            self.push_line(out, &line);
        }
        out.push_str("? ");
        if let Some(plain) = &mut self.plain {
            plain.is_mid_line = true;
            plain.question = id;
        }
    }

    /// Prints the question of a tool, one field at a time.
    fn push_asked(&mut self, out: &mut String) {
        let asked = self.app.questions.current.as_ref();
        let asked = asked.filter(|_| self.app.approvals.current.is_none());
        let key = asked.map(Asked::line_key);
        let lines = asked.map(Asked::line_prompt);
        let is_new = |plain: &mut Plain| {
            let is_new = plain.asked != key;
            plain.asked = key;
            is_new
        };
        if !self.plain.as_mut().is_some_and(is_new) {
            return;
        }
        let Some(lines) = lines else { return };
        for line in lines {
            self.push_line(out, &clean(&line));
        }
        out.push_str("? ");
        if let Some(plain) = &mut self.plain {
            plain.is_mid_line = true;
        }
    }

    /// Prints the question about the project's servers.
    fn push_project(&mut self, out: &mut String) {
        let Some(plain) = &mut self.plain else { return };
        let Some(project) = &self.app.mcp.project else {
            plain.has_asked_for_servers = false;
            return;
        };
        if std::mem::replace(&mut plain.has_asked_for_servers, true) {
            return;
        }
        let mut lines = vec![
            String::new(),
            format!("{} describes MCP servers:", clean(&project.path)),
        ];
        for (name, facts) in &project.servers {
            lines.push(format!("  {}", reveal(name)));
            lines.extend(facts.iter().map(|fact| format!("    {}", reveal(fact))));
        }
        lines.push("do you trust this project, and start them?".to_owned());
        lines.push(PROJECT_ANSWERS.to_owned());
        for line in lines {
            self.push_line(out, &clean(&line));
        }
        out.push_str("? ");
        if let Some(plain) = &mut self.plain {
            plain.is_mid_line = true;
        }
    }

    /// Answers the question about the project's servers. Any other line asks again.
    fn answer_project_question(&mut self, line: &str) -> io::Result<Option<Ending>> {
        let key = match line.trim().to_lowercase().as_str() {
            "y" | "yes" => KeyCode::Character('y'),
            "n" | "never" => KeyCode::Character('n'),
            "" | "not now" => KeyCode::Escape,
            _ => {
                if let Some(plain) = &mut self.plain {
                    plain.has_asked_for_servers = false;
                }
                return Ok(None);
            }
        };
        self.handle(Input::Key(Key::plain(key)))
    }

    fn push_step_question(&mut self, out: &mut String) {
        let StepLimit::Asked(limit) = self.app.approvals.step_limit else {
            if let Some(plain) = &mut self.plain {
                plain.has_asked_for_steps = false;
            }
            return;
        };
        let has_asked = |plain: &mut Plain| std::mem::replace(&mut plain.has_asked_for_steps, true);
        if self.plain.as_mut().is_some_and(has_asked) {
            return;
        }
        let steps = step_count(limit);
        let question = format!("the limit of {steps} is reached: continue for {steps} more?");
        self.push_line(out, &question);
        self.push_line(out, STEP_ANSWERS);
        out.push_str("? ");
        if let Some(plain) = &mut self.plain {
            plain.is_mid_line = true;
        }
    }

    fn answer_step_question(&mut self, line: &str) -> io::Result<Option<Ending>> {
        let key = match line.trim().to_lowercase().as_str() {
            "y" | "yes" => 'y',
            "a" => 'a',
            "n" | "no" => 'n',
            _ => {
                if let Some(plain) = &mut self.plain {
                    plain.has_asked_for_steps = false;
                }
                return Ok(None);
            }
        };
        self.handle(Input::Key(Key::plain(KeyCode::Character(key))))
    }

    /// Handles a line: an answer, a command or a prompt.
    pub(super) fn handle_line(&mut self, line: String) -> io::Result<Option<Ending>> {
        let Some(plain) = &mut self.plain else {
            return Ok(None);
        };
        // The terminal has echoed it, with its line end.
        plain.is_mid_line = false;
        plain.has_prompted = false;
        let ending = if self.app.mcp.project.is_some() {
            self.answer_project_question(&line)?
        } else if self.app.approvals.current.is_some() {
            self.answer(&line)?
        } else if let StepLimit::Asked(_) = self.app.approvals.step_limit {
            self.answer_step_question(&line)?
        } else if self.app.questions.current.is_some() {
            self.handle(Input::Line(line))?
        } else if let Some(part) = line.strip_suffix('\\') {
            plain.continued.push_str(part);
            plain.continued.push('\n');
            plain.has_prompted = true;
            return Ok(None);
        } else {
            let text = std::mem::take(&mut plain.continued) + &line;
            if text.trim().is_empty() {
                None
            } else {
                self.handle(Input::Edited(text))?;
                let ending = self.handle(Input::Key(Key::plain(KeyCode::Enter)))?;
                // Discards text that was refused.
                self.handle(Input::Edited(String::new()))?;
                ending
            }
        };
        if ending.is_none() {
            self.draw()?;
        }
        Ok(ending)
    }

    /// Answers the question about a call. Any other line leaves it open.
    fn answer(&mut self, line: &str) -> io::Result<Option<Ending>> {
        let line = line.trim();
        let (word, reason) = line.split_once(' ').unwrap_or((line, ""));
        let key = match (word.to_lowercase().as_str(), reason) {
            ("y" | "yes", "") => 'y',
            ("e", "") => 'e',
            ("a", "") => 'a',
            ("s", "") => 's',
            ("n" | "no", _) => 'n',
            _ => {
                if let Some(plain) = &mut self.plain {
                    plain.question.clear();
                }
                return Ok(None);
            }
        };
        let mut ending = self.handle(Input::Key(Key::plain(KeyCode::Character(key))))?;
        if key == 'n' {
            for character in reason.chars() {
                self.handle(Input::Key(Key::plain(KeyCode::Character(character))))?;
            }
            ending = self.handle(Input::Key(Key::plain(KeyCode::Enter)))?;
        }
        Ok(ending)
    }
}
