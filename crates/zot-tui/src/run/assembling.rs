//! Assembles a chat.

use std::io;
use std::sync::Arc;

use tokio::time::Instant;
use zot_sdk::Runtime;

use super::image_renderer::ImageRenderer;
use super::info::info;
use super::plain::Plain;
use super::{Chat, Options, Screen, Tasks, history_file, themes};
use crate::app::{App, History};
use crate::image::Surroundings;
use crate::renderer::{Narrowing, Renderer};
use crate::style::Depth;
use crate::terminal::{Kind, Question, Terminal};

/// Takes the terminal and asks for its capabilities.
pub(super) fn assemble(runtime: Arc<Runtime>, mut options: Options) -> io::Result<Chat> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let named = options.theme.take().filter(|name| name != "auto");
    let chosen = named.and_then(|name| {
        themes::load(&name, options.themes.as_deref())
            .inspect_err(|error| options.warnings.push(error.to_string()))
            .ok()
    });
    let theme = chosen.unwrap_or_else(|| themes::guess(variable));
    let (columns, rows) = Terminal::size();
    let history = match &options.history {
        Some(path) => history_file::read(path),
        None => Vec::new(),
    };
    let info = info(&runtime);
    let mut app = App::new(theme, columns, rows, info, History::new(history));
    app.status.is_theme_guessed = chosen.is_none();
    // GNU screen cannot clear its scrollback, so everything would be there twice.
    app.transcript.keeps_scrollback = options.keeps_scrollback || variable("STY").is_some();
    let kind = Kind::detect(variable);
    app.context.is_plain = kind == Kind::Lines;
    let mut terminal = Terminal::enter(kind)?;
    let depth = Depth::detect(variable);
    // Without colours the answer is useless, and simple terminals print the question.
    let is_simple = variable("TERM").is_none_or(|term| term == "linux" || term == "dumb");
    let surroundings = match is_simple || options.describes_images {
        true => Surroundings::Closed,
        false => Surroundings::detect(variable),
    };
    let background = chosen.is_none() && depth != Depth::None && !is_simple;
    terminal.ask(&questions(background, surroundings))?;
    let image_renderer = ImageRenderer::new(surroundings, terminal.answers());
    Ok(Chat {
        app,
        runtime,
        terminal,
        screen: Screen {
            renderer: Renderer::new(depth),
            draw_at: None,
            resized: None,
            fullscreen: None,
            narrowing: Narrowing::detect(variable),
        },
        tasks: Tasks::default(),
        chosen_model: None,
        sessions: Arc::default(),
        image_renderer,
        started: Instant::now(),
        plain: (kind == Kind::Lines).then(Plain::default),
        options,
    })
}

/// The questions for the terminal.
fn questions(background: bool, surroundings: Surroundings) -> Vec<Question> {
    let mut questions = Vec::new();
    if background {
        questions.push(Question::Background);
    }
    let asks_terminal = matches!(surroundings, Surroundings::Terminal | Surroundings::Tmux);
    if asks_terminal && Terminal::cell().is_none() {
        questions.push(Question::Cell);
    }
    if asks_terminal || background {
        questions.push(Question::Attributes);
    }
    questions
}
