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
use crate::image::ImageEnvironment;
use crate::renderer::{Narrowing, Renderer};
use crate::style::Depth;
use crate::terminal::{Kind, Terminal, TerminalQuery};

/// Takes over the terminal and queries its capabilities.
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
    runtime.accept_questions();
    let info = info(&runtime);
    let mut app = App::new(theme, columns, rows, info, History::new(history));
    app.status.is_theme_guessed = chosen.is_none();
    // GNU screen cannot clear its scrollback, so everything would appear twice.
    app.transcript.keeps_scrollback = options.keeps_scrollback || variable("STY").is_some();
    let kind = Kind::detect(variable);
    app.context.is_plain = kind == Kind::Lines;
    let mut terminal = Terminal::enter(kind)?;
    let depth = Depth::detect(variable);
    // Without colours the background does not matter, and simple terminals print the query.
    let is_simple = variable("TERM").is_none_or(|term| term == "linux" || term == "dumb");
    let environment = match is_simple || options.describes_images {
        true => ImageEnvironment::Blocked,
        false => ImageEnvironment::detect(variable),
    };
    let asks_background = chosen.is_none() && depth != Depth::None && !is_simple;
    terminal.query(&queries(asks_background, environment))?;
    let cwd = runtime.cwd().to_owned();
    let image_renderer = ImageRenderer::new(environment, terminal.capabilities(), cwd);
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

/// Returns the queries for the terminal.
fn queries(asks_background: bool, environment: ImageEnvironment) -> Vec<TerminalQuery> {
    let mut queries = Vec::new();
    if asks_background {
        queries.push(TerminalQuery::Background);
    }
    let asks_terminal = matches!(
        environment,
        ImageEnvironment::Terminal | ImageEnvironment::Tmux
    );
    if asks_terminal && Terminal::cell().is_none() {
        queries.push(TerminalQuery::Cell);
    }
    if asks_terminal || asks_background {
        queries.push(TerminalQuery::Attributes);
    }
    queries
}
