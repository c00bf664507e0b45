//! Nothing that others send can control the terminal.

use serde_json::json;

use super::*;
use crate::style::Depth;
use crate::text::width;

/// Pieces of hostile text: terminal sequences, complete and in parts, characters that hide others
/// or change their direction, and the syntax of Markdown and JSON around them.
const PIECES: &[&str] = &[
    "\x1b",
    "\x1b[",
    "\x1b[2J",
    "\x1b[31m",
    "\x1b[?1049h",
    "\x1b[6n",
    "\x1b[>0q",
    "\x1b]",
    "\x1b]0;title\x07",
    "\x1b]52;c;cm0gLXJm\x07",
    "\x1b]8;;http://a.b\x1b\\link\x1b]8;;\x1b\\",
    "\x1bP1$r0m\x1b\\",
    "\x1b_Ga=T;AAAA\x1b\\",
    "\x1bc",
    "\x1b(0",
    "\x1b#8",
    "\x1b7",
    "\x1b^x",
    "\x1bX",
    "\u{9b}2J",
    "\u{9d}0;t\u{9c}",
    "\u{90}q",
    "\u{98}",
    "\u{9e}",
    "\u{9f}",
    "\u{85}",
    "\u{80}",
    "\u{9c}",
    "\0",
    "\x05",
    "\x07",
    "\x08",
    "\x0b",
    "\x0c",
    "\x0e",
    "\x0f",
    "\x18",
    "\x1a",
    "\x7f",
    "\r",
    "\n",
    "\r\n",
    "\n\n",
    "\t",
    " ",
    "   ",
    "[2J",
    "]0;t",
    "\\",
    "m",
    "H",
    "\u{202e}",
    "\u{202a}",
    "\u{2066}",
    "\u{2069}",
    "\u{200e}",
    "\u{200f}",
    "\u{61c}",
    "\u{200b}",
    "\u{200d}",
    "\u{2060}",
    "\u{feff}",
    "\u{fe0f}",
    "\u{301}",
    "\u{489}",
    "\u{20e3}",
    "\u{e0041}",
    "\u{ad}",
    "\u{2028}",
    "\u{fff9}",
    "日本語",
    "👨‍👩‍👧",
    "👍🏽",
    "🇩🇪",
    "🏴",
    "שלום",
    "مرحبا",
    "नमस्ते",
    "e",
    "word ",
    "another ",
    "x",
    "averyverylongwordthatdoesnotfitanywhere",
    "`",
    "```",
    "```rust\n",
    "~~~",
    "# ",
    "## ",
    "- ",
    "* ",
    "1. ",
    "  - ",
    "> ",
    "| a | b |\n|---|---|\n| ",
    " | ",
    "---\n",
    "**",
    "_",
    "~~",
    "[text](",
    "![",
    "](http://a.b/\u{1b}[2J)",
    "<b>",
    "<!--",
    "&#27;[2J",
    "&#x9b;",
    "[^1]",
    "[^1]: ",
    "- [ ] ",
    "$",
    "\"",
    "{\"command\": \"",
    "\"path\": \"",
    "\"content\": \"",
    "\\u001b[2J",
    "\\n",
    "}",
    "+added",
    "-removed",
    "@@",
    "@",
    "/",
    "!",
];

/// A deterministic generator of hostile inputs.
pub(super) struct HostileInputs(pub(super) u64);

impl HostileInputs {
    fn number(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn text(&mut self) -> String {
        let length = match self.number(20) {
            0 => 0,
            1 => 200,
            _ => 1 + self.number(12),
        };
        let mut text: String = (0..length)
            .map(|_| PIECES[self.number(PIECES.len())])
            .collect();
        match self.number(150) {
            0 => text.push_str(&"\u{301}".repeat(10_000)),
            1 => text.push_str(&"\u{200b}".repeat(10_000)),
            2 => text.push_str(&"x".repeat(20_000)),
            3 => text.push_str(&"\x1b]".repeat(5_000)),
            _ => {}
        }
        text
    }

    fn texts(&mut self) -> Vec<String> {
        (0..self.number(30)).map(|_| self.text()).collect()
    }

    fn id(&mut self) -> String {
        self.number(3).to_string()
    }

    fn content(&mut self) -> serde_json::Value {
        json!([{"type": "text", "text": self.text()}, {"type": "image", "mime_type": self.text(), "bytes": 7}])
    }

    fn frame(&mut self) -> serde_json::Value {
        let name = Event::TYPES[self.number(Event::TYPES.len())];
        let args = json!({"command": self.text(), "path": self.text(), "content": self.text()});
        let usage =
            json!({"input": 1, "output": 1, "cache_read": 0, "cache_write": 0, "cost_usd": 0.1});
        let mut event = json!({
            "delta": self.text(), "id": self.id(), "name": self.text(), "args": args, "message": self.text(),
            "text": self.text(), "content": self.content(), "is_error": self.number(2) == 0, "time": "",
            "extension": self.id(), "panel_id": self.id(), "title": self.text(), "lines": self.texts(),
            "footer": self.text(), "level": self.text(), "from": self.text(), "to": self.text(), "code": "",
            "summary": self.text(), "failures": 1, "wait_ms": 5, "stop": self.text(), "step": 1, "preview": self.text(), "cumulative": usage,
            "call_id": self.id(), "origin": self.text(), "state": self.text(), "tools": 1, "prompts": 1,
            "resources": 1,
        });
        match self.number(3) {
            0 => event["url"] = json!(format!("https://{}", self.text())),
            1 => event["schema"] = self.form(),
            _ => {}
        }
        if self.number(2) == 0 {
            let tools = ["write", "edit", "bash", "read"];
            event["name"] = json!(tools[self.number(tools.len())]);
        }
        for (name, value) in usage.as_object().unwrap() {
            event[name] = value.clone();
        }
        event["type"] = json!(name);
        event
    }

    /// Returns the schema of a form.
    fn form(&mut self) -> serde_json::Value {
        json!({"properties": {
            self.text(): {"type": "string", "title": self.text(), "description": self.text(), "default": self.text()},
            self.text(): {"type": "integer", "title": self.text(), "default": 5},
            self.text(): {"type": "string", "enum": self.texts()},
            self.text(): {"type": "array", "items": {"anyOf": [{"const": self.text(), "title": self.text()}]}},
            self.text(): {"type": self.text()},
        }})
    }

    fn server(&mut self) -> McpServer {
        McpServer {
            name: self.text(),
            state: match self.number(4) {
                0 => McpState::Starting,
                1 => McpState::Failed(self.text()),
                2 => McpState::NeedsLogin,
                _ => McpState::Ready,
            },
            is_remote: self.number(2) == 0,
            tools: 1,
            prompts: 0,
            resources: 1,
        }
    }

    fn servers(&mut self) -> McpInput {
        match self.number(3) {
            0 => McpInput::Servers {
                servers: vec![self.server(), self.server()],
                resources: vec![(self.text(), self.text())],
            },
            1 => McpInput::ProjectFound(ProjectServers {
                path: self.text(),
                servers: vec![(self.text(), self.texts())],
                top: 0,
            }),
            _ => McpInput::ProjectSettled,
        }
    }

    /// Returns the preview of a selected choice.
    fn preview(&mut self) -> Preview {
        let body = match self.number(3) {
            0 => PreviewBody::Nothing,
            1 => PreviewBody::Prose(self.text()),
            _ => PreviewBody::Code {
                language: self.text(),
                text: self.text(),
            },
        };
        Preview {
            facts: self.texts(),
            body,
        }
    }

    fn key(&mut self) -> Key {
        let codes = [
            KeyCode::Character('y'),
            KeyCode::Character('/'),
            KeyCode::Character('@'),
            KeyCode::Character('o'),
            KeyCode::Character('n'),
            KeyCode::Character('\u{301}'),
            KeyCode::Character('日'),
            KeyCode::Enter,
            KeyCode::Tab,
            KeyCode::Backspace,
            KeyCode::Escape,
            KeyCode::Up,
            KeyCode::Down,
            KeyCode::PageDown,
            KeyCode::Home,
            KeyCode::End,
            KeyCode::Function(1),
        ];
        Key {
            code: codes[self.number(codes.len())],
            control: self.number(6) == 0,
            alt: self.number(6) == 0,
            shift: self.number(6) == 0,
        }
    }

    pub(super) fn input(&mut self) -> Input {
        // Flat table: an input of each kind.
        match self.number(42) {
            0..10 => reported::input(self.frame()),
            10..15 => Input::Key(self.key()),
            15 => Input::Paste(self.text()),
            16 => Input::Resized {
                columns: 1 + self.number(120),
                rows: 1 + self.number(40),
            },
            17 => reported::aside(self.frame()),
            18 => Input::AsideEnded,
            19 => Input::WorkEnded,
            20 => Input::Info(Info {
                provider: self.text(),
                model: self.text(),
                cwd: self.text(),
                version: self.text(),
                context_window: 10,
                context_used: 5,
                approval: match self.number(2) {
                    0 => ApprovalScope::Tools(self.texts()),
                    _ => ApprovalScope::AllTools,
                },
                ..Info::default()
            }),
            21 => Input::Listed(Listed::Files(FileList::complete(Choices::named(
                self.texts(),
            )))),
            22 => Input::Listed(Listed::Models(self.texts())),
            23 => Input::Listed(Listed::Prompts(self.texts())),
            24 => Input::Listed(Listed::Sessions(self.texts())),
            25 => {
                let message = json!({"role": "user", "content": self.content(), "time": ""});
                let messages = reported::messages(json!([message]));
                Input::Earlier {
                    title: self.text(),
                    messages,
                }
            }
            26 => Input::Commands(vec![(self.text(), self.text()), (self.text(), self.text())]),
            27 => Input::Edited(self.text()),
            28 => Input::Shell(ShellInput::Progress(self.text())),
            29 => Input::Note {
                text: self.text(),
                is_error: self.number(2) == 0,
            },
            30 => Input::Insert(self.text()),
            31 => Input::Panel(PanelInput::Opened(PanelView {
                extension: self.id(),
                id: self.id(),
                title: self.text(),
                lines: self.texts(),
                footer: self.text(),
            })),
            32 => Input::Panel(PanelInput::Lost {
                extension: self.id(),
                panel: self.id(),
                reason: self.text(),
            }),
            33 => Input::Panicked(self.text()),
            37 => Input::Shell(ShellInput::Ended(ShellOutput {
                command: self.text(),
                output: self.text(),
                ending: self.text(),
            })),
            34 => Input::Listed(Listed::Skills(vec![
                (self.text(), self.text()),
                (self.text(), self.text()),
            ])),
            35 => Input::Listed(Listed::Themes(self.texts())),
            36 => Input::Listed(Listed::Providers {
                action: LogAction::In,
                providers: vec![(self.text(), self.text())],
            }),
            38..41 => Input::Mcp(self.servers()),
            _ => Input::Prompt(Prompt::typed(self.text())),
        }
    }
}

/// Rejects everything but text and the few sequences of the renderer.
fn check(bytes: &str) -> Result<(), String> {
    let mut rest = bytes;
    while let Some(character) = rest.chars().next() {
        let near: String = rest.chars().take(20).collect();
        if character == '\x1b' {
            let length = own_sequence(rest).ok_or(format!("a foreign sequence: {near:?}"))?;
            rest = &rest[length..];
            continue;
        }
        let is_line_end = rest.starts_with('\r') || rest.starts_with('\n');
        let changes_direction = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if (character.is_control() && !is_line_end) || changes_direction {
            return Err(format!("a character that controls the terminal: {near:?}"));
        }
        rest = &rest[character.len_utf8()..];
    }
    Ok(())
}

/// Returns the length of the renderer's sequence that `text` begins with.
fn own_sequence(text: &str) -> Option<usize> {
    // The renderer writes these only together.
    for whole in ["\x1b[H\x1b[2J\x1b[3J", "\x1b7\x1b[B\x1b[J\x1b8"] {
        if text.starts_with(whole) {
            return Some(whole.len());
        }
    }
    let body = text.strip_prefix("\x1b[")?;
    for mode in ["?2026h", "?2026l", "?25h", "?25l"] {
        if body.starts_with(mode) {
            return Some(2 + mode.len());
        }
    }
    let end = body.find(|c: char| !(c.is_ascii_digit() || c == ';'))?;
    let kind = body[end..].chars().next()?;
    let is_ours = match kind {
        'm' => true,
        'A' | 'B' | 'C' => !body[..end].is_empty() && !body[..end].contains(';'),
        'J' | 'K' | 'H' => body[..end].is_empty(),
        _ => false,
    };
    is_ours.then_some(2 + end + 1)
}

#[test]
fn only_text_and_our_own_sequences_reach_the_terminal() {
    for seed in 1..=12_u64 {
        let mut hostile = HostileInputs(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let depth =
            [Depth::None, Depth::Sixteen, Depth::Palette256, Depth::True][seed as usize % 4];
        let info = Info {
            model: hostile.text(),
            cwd: hostile.text(),
            ..Info::default()
        };
        let texts = hostile.texts().into_iter();
        let drafts = texts.map(|text| crate::editor::Draft::restored(text, Vec::new(), false));
        let history = History::new(drafts.collect());
        let mut app = App::new(Theme::DARK, 40, 10, info, history);
        let mut renderer = Renderer::new(depth);
        // A side question, whose events are among the inputs.
        app.update(0, Input::Edited("/btw what".to_owned()));
        app.update(0, Input::Key(Key::plain(KeyCode::Enter)));
        for step in 0..200_u64 {
            let input = hostile.input();
            let context = format!("{seed}, {step}: {input:?}");
            let effects = app.update(step * 200, input);
            for effect in effects {
                if let Effect::Query(Query::Preview(subject)) = effect {
                    let preview = hostile.preview();
                    app.update(step * 200, Input::Preview { subject, preview });
                }
            }
            let frame = app.frame(renderer.above());
            let (columns, rows) = app.size();
            for line in &frame.live {
                let (line_width, text) = (line.width(), line.text());
                // One cluster is never cut, however narrow the screen.
                assert!(
                    line_width <= columns,
                    "{line_width} > {columns}: {text:?}\n{context:.2000}"
                );
                assert_eq!(width(&text), line_width);
            }
            let bytes = renderer.draw(frame, rows);
            if let Err(error) = check(&bytes) {
                panic!("{error}\n{context:.2000}");
            }
        }
    }
}

/// A sequence has no effect, wherever deltas split it.
#[test]
fn a_split_escape_sequence_is_removed() {
    let answer =
        "a\x1b[2Jb \x1b]52;c;cm0=\x07 `\u{9b}31mc` \u{202e}d\n\n```\n\x1b[?1049h\n```\n日\u{301}本";
    let mut app = App::new(Theme::DARK, 40, 10, Info::default(), History::default());
    let mut renderer = Renderer::new(Depth::True);
    let begins = [AgentEvent::AssistantStarted];
    let deltas = answer
        .chars()
        .map(|character| AgentEvent::TextDelta(character.to_string()));
    for event in begins.into_iter().chain(deltas) {
        app.update(1, Input::Agent(event));
        let frame = app.frame(renderer.above());
        let bytes = renderer.draw(frame, 10);
        assert_eq!(check(&bytes), Ok(()));
    }
}

#[test]
fn the_check_detects_violations() {
    for foreign in [
        "\x1b[2J",
        "\x1b[6n",
        "\x1b]0;t\x07",
        "\x1b",
        "\x1b[",
        "\x1b[?1049h",
        "\u{9b}",
        "\x07",
        "\u{202e}",
        "\x1b[1;2H",
        "\x1b[3J",
    ] {
        assert!(check(&format!("a{foreign}b")).is_err(), "{foreign:?}");
    }
    assert_eq!(check("a\x1b[0;1;38;2;1;2;3mb\x1b[0m\r\n\x1b[K日"), Ok(()));
}

/// Long text without spaces, or with many marks on one character, wherever text is shown.
#[test]
fn long_text_is_not_processed_again_for_every_frame() {
    for long in [
        "x", "日", "\u{301}", "\u{200b}", "\x1b]", "\x1b[", "*", "[", "`a", "> ", "| ", "```\n",
        "```x",
    ] {
        let text = long.repeat(100_000 / long.len());
        let mut app = App::new(Theme::DARK, 80, 24, Info::default(), History::default());
        let mut renderer = Renderer::new(Depth::True);
        let delta = AgentEvent::TextDelta(text.clone());
        app.update(1, Input::Agent(delta));
        // Little is drawn again for every frame, however much has arrived.
        let redrawn = app.transcript.tail(&app.context);
        let bytes: usize = redrawn.iter().map(|line| line.text().len()).sum();
        assert!(bytes < 60_000, "{long:?}: {bytes}");
        for event in [
            json!({"type": "thinking_delta", "delta": text}),
            json!({"type": "tool_call", "id": "1", "name": "bash", "args": {"command": text}}),
            json!({"type": "tool_progress", "id": "1", "text": text}),
            json!({"type": "tool_confirm", "id": "1", "name": "bash", "args": {"command": text}, "preview": text}),
            json!({"type": "tool_result", "id": "1", "is_error": false, "content": [{"type": "text", "text": text}]}),
            json!({"type": "error", "message": text}),
        ] {
            app.update(1, reported::input(event));
            let frame = app.frame(renderer.above());
            let bytes = renderer.draw(frame, 24);
            assert_eq!(check(&bytes), Ok(()));
        }
    }
}

#[test]
fn code_in_a_side_answer_is_not_wider_than_the_screen() {
    let mut chat = Chat::new(40, 20);
    chat.input(Input::Edited("/btw what".to_owned()));
    chat.press(KeyCode::Enter);
    let code = format!("```\n{}\n", "x".repeat(100));
    chat.app
        .update(1, Input::Aside(AgentEvent::TextDelta(code)));
    let frame = chat.app.frame(0);
    assert!(frame.live.iter().any(|line| line.text().contains("xxx")));
    assert!(frame.live.iter().all(|line| line.width() <= 40));
}
