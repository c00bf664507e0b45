//! Brings the terminal, the agent and the state together.

mod dropped;
mod editor_program;
mod files;
mod history_file;
mod listings;
mod pictures;
mod shell;
mod themes;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use zot_sdk::{
    ApprovalPolicy, Event, EventStream, ExtensionNotice, Image, InvokedData, PanelAction, Runtime,
    VERSION,
};

use crate::app::{App, Effect, FileList, History, Info, Input, Prompt};
use crate::picture::{Drawing, Easel, Protocol};
use crate::renderer::Renderer;
use crate::style::Depth;
use crate::terminal::Terminal;

pub use pictures::Pictures;

/// While things stream in, the screen is drawn this often at most.
const FRAME: Duration = Duration::from_millis(16);

/// Events taken in one go before keys are looked at again.
const MAX_BURST: usize = 512;

/// How long a cancelled prompt may take to wind down when the user leaves.
const WIND_DOWN: Duration = Duration::from_secs(3);

/// What the clipboard sequence of terminals can carry.
const MAX_COPIED_BYTES: usize = 74_000;

/// How the chat is to begin.
#[derive(Clone, Default)]
pub struct Options {
    /// `light`, `dark` or a file in `themes`; detected when not given.
    pub theme: Option<String>,
    /// Where the user's themes are.
    pub themes: Option<PathBuf>,
    /// Sent at once.
    pub prompt: Option<String>,
    /// Where prompts are remembered.
    pub history: Option<PathBuf>,
    /// Among the runtime's hooks, to show its pictures where the terminal can.
    pub pictures: Option<Arc<Pictures>>,
    /// Shown first.
    pub warnings: Vec<String>,
}

/// Why the chat ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    Left,
    /// By this signal.
    Signal(i32),
    /// The terminal went away.
    TerminalGone,
}

/// Runs the chat until the user leaves.
pub async fn run(runtime: Arc<Runtime>, mut options: Options) -> io::Result<Ending> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let wanted = options.theme.take().or_else(|| variable("ZOT_THEME"));
    let chosen = wanted.and_then(|name| {
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
    app.is_theme_guessed = chosen.is_none();
    let mut terminal = Terminal::enter()?;
    let depth = Depth::detect(variable);
    // Without colours it makes no difference, and the simplest terminals print the question.
    let is_simple = variable("TERM").is_none_or(|term| term == "linux" || term == "dumb");
    if chosen.is_none() && depth != Depth::None && !is_simple {
        terminal.ask_background()?;
    }
    let mut chat = Chat {
        app,
        renderer: Renderer::new(depth),
        terminal,
        runtime,
        work: None,
        aside: None,
        jobs: JoinSet::new(),
        easel: Protocol::detect(variable).map(|protocol| Easel {
            protocol,
            cell: Terminal::cell(),
        }),
        begun: Instant::now(),
        draw_at: None,
        options,
    };
    let ending = chat.live().await;
    chat.end().await?;
    ending
}

struct Chat {
    app: App,
    renderer: Renderer,
    terminal: Terminal,
    runtime: Arc<Runtime>,
    work: Option<EventStream>,
    /// A question on the side; dropping it ends it.
    aside: Option<EventStream>,
    /// Commands, listings: each ends with inputs.
    jobs: JoinSet<Vec<Input>>,
    /// Where the terminal can show pictures.
    easel: Option<Easel>,
    begun: Instant,
    /// Something has changed and is drawn then.
    draw_at: Option<Instant>,
    options: Options,
}

struct Signals {
    terminate: Signal,
    hang_up: Signal,
}

impl Chat {
    async fn live(&mut self) -> io::Result<Ending> {
        let mut signals = Signals {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        };
        for warning in std::mem::take(&mut self.options.warnings) {
            let note = Input::Note {
                text: warning,
                is_error: false,
            };
            self.take(note)?;
        }
        self.list_commands();
        if let Some(prompt) = self.options.prompt.take() {
            self.take(Input::Prompt(Prompt::typed(prompt)))?;
        }
        self.draw()?;
        loop {
            let tick = self.app.next_tick_ms().map(Duration::from_millis);
            let tick = tick.map(|after| Instant::now() + after);
            let ending = tokio::select! {
                biased;
                _ = signals.terminate.recv() => Some(Ending::Signal(15)),
                _ = signals.hang_up.recv() => Some(Ending::Signal(1)),
                input = self.terminal.next() => match input {
                    Some(Ok(input)) => {
                        let input = self.with_dropped(input);
                        let ending = self.take(input)?;
                        // A key is answered at once, not at the next beat of the timer.
                        self.draw()?;
                        ending
                    }
                    _ => Some(Ending::TerminalGone),
                },
                () = until(self.draw_at) => {
                    self.draw()?;
                    None
                }
                event = next_event(&mut self.work) => self.take_burst(event)?,
                event = next_event(&mut self.aside) => self.take_aside(event)?,
                notice = self.runtime.next_notice() => {
                    let input = match notice {
                        ExtensionNotice::Event(event) => Input::Agent(event),
                        ExtensionNotice::Warning(text) => Input::Note { text, is_error: true },
                    };
                    self.take_soon(input)?
                }
                Some(done) = self.jobs.join_next() => {
                    let mut ending = None;
                    for input in done.unwrap_or_default() {
                        ending = ending.or(self.take_soon(input)?);
                    }
                    ending
                }
                () = until(tick) => self.take_soon(Input::Tick)?,
            };
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    /// Takes an event and all that have come with it.
    fn take_burst(&mut self, first: Option<Event>) -> io::Result<Option<Ending>> {
        let mut next = first;
        for _ in 0..MAX_BURST {
            let Some(event) = next else {
                self.work = None;
                let info = info(&self.runtime);
                let used = self.app.context_used();
                self.take_soon(Input::Info(Info {
                    context_used: used,
                    ..info
                }))?;
                return self.take_soon(Input::WorkEnded);
            };
            let drawings = self.drawings(&event);
            if let Some(ending) = self.take_soon(Input::Agent(event))? {
                return Ok(Some(ending));
            }
            for drawing in drawings {
                self.take_soon(Input::Picture(drawing))?;
            }
            let Some(work) = &mut self.work else { break };
            next = match work.next_now() {
                Some(event) => event,
                None => break,
            };
        }
        Ok(None)
    }

    /// The pictures that an event tells of.
    fn drawings(&self, event: &Event) -> Vec<Drawing> {
        let pictures = match (&self.options.pictures, event) {
            (Some(pictures), Event::ToolResult { id, .. }) => pictures.take(id),
            (Some(pictures), Event::UserMessage { .. }) => pictures.take(""),
            _ => return Vec::new(),
        };
        let Some(easel) = &self.easel else {
            return Vec::new();
        };
        let (columns, rows) = self.app.size();
        let images = pictures.iter();
        images
            .filter_map(|image| easel.draw(&image.data, columns, rows / 2))
            .collect()
    }

    /// A picture that was dropped on the terminal is mentioned.
    fn with_dropped(&self, input: Input) -> Input {
        let Input::Paste(text) = input else {
            return input;
        };
        let home = std::env::home_dir();
        let mention = dropped::mention(&text, self.runtime.cwd(), home.as_deref());
        Input::Paste(mention.unwrap_or(text))
    }

    fn take_aside(&mut self, event: Option<Event>) -> io::Result<Option<Ending>> {
        let input = match event {
            Some(event) => Input::Aside(event),
            None => {
                self.aside = None;
                Input::AsideEnded
            }
        };
        self.take_soon(input)
    }

    fn take_soon(&mut self, input: Input) -> io::Result<Option<Ending>> {
        let ending = self.take(input)?;
        self.draw_at.get_or_insert_with(|| Instant::now() + FRAME);
        Ok(ending)
    }

    fn take(&mut self, input: Input) -> io::Result<Option<Ending>> {
        let now_ms = self.begun.elapsed().as_millis() as u64;
        let mut inputs = vec![input];
        while !inputs.is_empty() {
            for input in std::mem::take(&mut inputs) {
                for effect in self.app.update(now_ms, input) {
                    if effect == Effect::Quit {
                        return Ok(Some(Ending::Left));
                    }
                    inputs.extend(self.perform(effect)?);
                }
            }
        }
        Ok(None)
    }

    fn draw(&mut self) -> io::Result<()> {
        self.draw_at = None;
        let (_, rows) = self.app.size();
        let bytes = self.renderer.draw(self.app.frame(), rows);
        match bytes.is_empty() {
            true => Ok(()),
            false => self.terminal.write(bytes.as_bytes()),
        }
    }

    /// Does what the state asks for; what comes of it at once is returned.
    fn perform(&mut self, effect: Effect) -> io::Result<Vec<Input>> {
        let failed = |error: &dyn std::fmt::Display| {
            vec![Input::Note {
                text: error.to_string(),
                is_error: true,
            }]
        };
        Ok(match effect {
            Effect::Prompt(prompt) => {
                let (text, images, mut notes) = self.with_mentions(prompt);
                match self.runtime.prompt(&text, images) {
                    Ok(stream) => self.work = Some(stream),
                    Err(error) => {
                        notes.extend(failed(&error));
                        notes.push(Input::WorkEnded);
                    }
                }
                notes
            }
            Effect::Compact => match self.runtime.compact() {
                Ok(stream) => {
                    self.work = Some(stream);
                    Vec::new()
                }
                Err(error) => [failed(&error), vec![Input::WorkEnded]].concat(),
            },
            Effect::Steer(text) => match self.runtime.steer(&text, Vec::new()) {
                Ok(()) => Vec::new(),
                // It has just ended: then it is the next prompt.
                Err(_) => vec![Input::Prompt(Prompt::typed(text))],
            },
            Effect::Cancel => {
                self.runtime.cancel();
                Vec::new()
            }
            Effect::Aside(question) => {
                self.aside = Some(self.runtime.ask_aside(&question));
                Vec::new()
            }
            Effect::CancelAside => {
                self.aside = None;
                Vec::new()
            }
            Effect::SetApproval(scope) => {
                let policy = self.runtime.approval();
                self.runtime
                    .set_approval(ApprovalPolicy { scope, ..policy });
                Vec::new()
            }
            Effect::ListPrompts => vec![Input::Prompts(listings::prompts(&self.runtime))],
            Effect::Reprint(index) => listings::earlier(&self.runtime, index),
            Effect::ShowContext => vec![listings::context(&self.runtime)],
            Effect::ShowSkills => vec![listings::skills(&self.runtime)],
            Effect::LoadTheme(name) => match themes::load(&name, self.options.themes.as_deref()) {
                Ok(theme) => vec![Input::Theme(Box::new(theme))],
                Err(error) => failed(&error),
            },
            Effect::ShowTools => vec![listings::tools(&self.runtime)],
            Effect::Confirm { id, decision } => match self.runtime.confirm(&id, decision) {
                Ok(()) => Vec::new(),
                Err(error) => failed(&error),
            },
            Effect::SetModel(model) => match self.runtime.set_model(&model) {
                Ok(()) => vec![Input::Info(info(&self.runtime))],
                Err(error) => failed(&error),
            },
            Effect::Clear => match self.runtime.clear() {
                Ok(()) => Vec::new(),
                Err(error) => failed(&error),
            },
            Effect::ListModels => {
                let models = self.runtime.list_models();
                vec![Input::Models(
                    models.into_iter().map(|model| model.id).collect(),
                )]
            }
            Effect::ListFiles => {
                let cwd = self.runtime.cwd().to_owned();
                let near = cwd.clone();
                self.jobs.spawn_blocking(move || {
                    vec![Input::Files(FileList::first(files::list_near(&near)))]
                });
                self.jobs
                    .spawn_blocking(move || vec![Input::Files(FileList::whole(files::list(&cwd)))]);
                Vec::new()
            }
            Effect::ListCommands => {
                self.list_commands();
                Vec::new()
            }
            Effect::Invoke { name, arguments } => {
                let runtime = Arc::clone(&self.runtime);
                self.jobs.spawn(async move {
                    match runtime.invoke_command(&name, &arguments).await {
                        Ok(data) => invoked(data),
                        Err(error) => vec![Input::Note {
                            text: error.to_string(),
                            is_error: true,
                        }],
                    }
                });
                Vec::new()
            }
            Effect::ReloadExtensions => {
                let runtime = Arc::clone(&self.runtime);
                self.jobs.spawn(async move {
                    let (text, is_error) = match runtime.reload_extensions().await {
                        Ok(loaded) => (format!("{} extensions are running", loaded.len()), false),
                        Err(error) => (error.to_string(), true),
                    };
                    vec![Input::Note { text, is_error }, commands(&runtime).await]
                });
                Vec::new()
            }
            Effect::PanelKey {
                extension,
                panel: panel_id,
                key,
                text,
            } => {
                let action = PanelAction::Key {
                    panel_id,
                    key,
                    text,
                };
                match self.runtime.tell_panel(&extension, action) {
                    Ok(()) => Vec::new(),
                    Err(error) => failed(&error),
                }
            }
            Effect::PanelClose {
                extension,
                panel: panel_id,
            } => {
                // It may be gone already, which is what was wanted.
                let _ = self
                    .runtime
                    .tell_panel(&extension, PanelAction::Close { panel_id });
                Vec::new()
            }
            Effect::Shell(command) => {
                let cwd = self.runtime.cwd().to_owned();
                self.jobs
                    .spawn(async move { vec![shell::run(&cwd, command).await] });
                Vec::new()
            }
            Effect::OpenEditor(text) => {
                self.set_aside()?;
                let edited = editor_program::edit(&text);
                self.take_back()?;
                match edited {
                    Ok(text) => vec![Input::Edited(text)],
                    Err(error) => failed(&error),
                }
            }
            Effect::Copy(text) => {
                let end = text.floor_char_boundary(MAX_COPIED_BYTES.min(text.len()));
                let encoded = BASE64.encode(&text[..end]);
                self.terminal
                    .write(format!("\x1b]52;c;{encoded}\x07").as_bytes())?;
                vec![Input::Note {
                    text: "copied (if the terminal allows it)".to_owned(),
                    is_error: false,
                }]
            }
            Effect::Remember(text) => match &self.options.history {
                Some(path) => match history_file::append(path, &text) {
                    Ok(()) => Vec::new(),
                    Err(error) => failed(&format!("{}: {error}", path.display())),
                },
                None => Vec::new(),
            },
            Effect::Suspend => {
                self.set_aside()?;
                // Stops here until the shell continues us.
                rustix::process::kill_current_process_group(rustix::process::Signal::TSTP)?;
                self.take_back()?;
                Vec::new()
            }
            Effect::Redraw => {
                let mut bytes = self.renderer.wipe();
                if let Some(easel) = &self.easel {
                    bytes.push_str(easel.wipe());
                }
                self.terminal.write(bytes.as_bytes())?;
                Vec::new()
            }
            Effect::Quit => Vec::new(),
        })
    }

    /// What the agent is asked, with the files that the user mentioned.
    fn with_mentions(&self, prompt: Prompt) -> (String, Vec<Image>, Vec<Input>) {
        let Prompt { mut text, typed } = prompt;
        if !typed {
            return (text, Vec::new(), Vec::new());
        }
        let attached = self.runtime.attach_mentions(&text);
        if !attached.text.is_empty() {
            text.push_str("\n\n");
            text.push_str(&attached.text);
        }
        let problem = |problem: &dyn std::fmt::Display| Input::Note {
            text: problem.to_string(),
            is_error: true,
        };
        let problems = attached.problems.iter().map(|one| problem(one)).collect();
        (text, attached.images, problems)
    }

    fn set_aside(&mut self) -> io::Result<()> {
        let bytes = self.renderer.clear();
        self.terminal.write(bytes.as_bytes())?;
        self.terminal.leave();
        Ok(())
    }

    fn take_back(&mut self) -> io::Result<()> {
        self.terminal.resume()?;
        let (columns, rows) = Terminal::size();
        self.app.resize_quietly(columns, rows);
        Ok(())
    }

    fn list_commands(&mut self) {
        let runtime = Arc::clone(&self.runtime);
        self.jobs
            .spawn(async move { vec![commands(&runtime).await] });
    }

    /// Winds down and leaves the terminal as it was.
    async fn end(mut self) -> io::Result<()> {
        if let Some(mut work) = self.work.take() {
            self.runtime.cancel();
            let wind_down = async { while work.next().await.is_some() {} };
            let _ = timeout(WIND_DOWN, wind_down).await;
        }
        self.jobs.shutdown().await;
        let bytes = self.renderer.clear();
        let written = self.terminal.write(bytes.as_bytes());
        drop(self.terminal);
        self.runtime.close().await;
        written
    }
}

async fn next_event(work: &mut Option<EventStream>) -> Option<Event> {
    match work {
        Some(work) => work.next().await,
        None => std::future::pending().await,
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}

async fn commands(runtime: &Runtime) -> Input {
    let commands = runtime.commands().await.into_iter();
    Input::Commands(
        commands
            .map(|command| (command.name, command.description))
            .collect(),
    )
}

fn invoked(data: InvokedData) -> Vec<Input> {
    let mut inputs = Vec::new();
    if let Some(error) = data.error {
        inputs.push(Input::Note {
            text: format!("{}: {error}", data.extension),
            is_error: true,
        });
    }
    if let Some(text) = data.display {
        inputs.push(Input::Note {
            text,
            is_error: false,
        });
    }
    if let Some(panel) = data.open_panel {
        inputs.push(Input::Agent(Event::ExtPanel {
            extension: data.extension,
            panel_id: panel.id,
            content: panel.content,
        }));
    }
    inputs.extend(data.insert.map(Input::Insert));
    let prompt = data.prompt.map(|text| Prompt { text, typed: false });
    inputs.extend(prompt.map(Input::Prompt));
    inputs
}

fn info(runtime: &Runtime) -> Info {
    let model = runtime.model();
    let window = runtime
        .list_models()
        .into_iter()
        .find(|entry| entry.id == model)
        .map_or(0, |entry| entry.context_window);
    Info {
        provider: runtime.provider().to_owned(),
        model,
        cwd: runtime.cwd().display().to_string(),
        version: VERSION.to_owned(),
        cost_usd: runtime.cost().cost_usd,
        context_window: window,
        context_used: 0,
        approval: runtime.approval().scope,
    }
}
