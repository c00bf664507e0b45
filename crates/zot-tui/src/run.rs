//! Brings the terminal, the agent and the state together.

mod again;
mod bounded;
mod dropped;
mod editor_program;
mod effects;
mod exports;
mod files;
mod history_file;
mod jail;
mod listings;
mod own_program;
mod pictures;
mod previews;
mod shell;
mod studio;
mod themes;
mod watch;

use std::io;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use zot_sdk::sessions::Summary;
use zot_sdk::{Event, EventStream, ExtensionNotice, Image, Runtime, VERSION};

use crate::app::{App, Effect, History, Info, Input, Key, Prompt};
use crate::picture::Surroundings;
use crate::renderer::{Renderer, Replaces};
use crate::style::Depth;
use crate::terminal::{Question, Terminal};

pub use again::Carried;
use pictures::Pictures;
use studio::Studio;
pub use watch::Watch;

/// While things stream in, the screen is drawn this often at most.
const FRAME: Duration = Duration::from_millis(16);

/// A window that is dragged changes its size many times; all is drawn anew when it stands still.
const SETTLING: Duration = Duration::from_millis(80);

/// Events taken in one go before keys are looked at again.
const MAX_BURST: usize = 512;

/// What of a conversation that is taken up is shown.
const RESUMED_MESSAGES: usize = 40;

/// How long a cancelled prompt may take to wind down when the user leaves.
const WIND_DOWN: Duration = Duration::from_secs(3);

/// How long after another program's end a signal may still be one that was meant for it.
const GUEST_LEAVES: Duration = Duration::from_millis(100);

/// How the chat is to begin.
#[derive(Clone, Default)]
pub struct Options {
    /// `light`, `dark` or a file in `themes`; detected when not given.
    pub theme: Option<String>,
    /// Another width of the window leaves what has left the screen as it is.
    pub keeps_scrollback: bool,
    /// Where the user's themes are.
    pub themes: Option<PathBuf>,
    /// Which session to go on with is picked first.
    pub picks_session: bool,
    /// Sent at once.
    pub prompt: Option<String>,
    /// Where prompts are remembered.
    pub history: Option<PathBuf>,
    /// Where sessions are kept.
    pub sessions: Option<PathBuf>,
    /// Among the runtime's hooks, for pictures and what takes time.
    pub watch: Option<Arc<Watch>>,
    /// Shown first.
    pub warnings: Vec<String>,
}

/// Why the chat ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Left,
    /// To begin anew with this session.
    Again {
        session: Option<PathBuf>,
        carried: Box<Carried>,
    },
    /// By this signal.
    Signal(i32),
    /// The terminal went away.
    TerminalGone,
}

/// Runs the chat until the user leaves.
pub async fn run(runtime: Arc<Runtime>, mut options: Options) -> io::Result<Ending> {
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
    app.is_theme_guessed = chosen.is_none();
    // GNU screen cannot forget what has left the screen, so it would have everything twice.
    app.keeps_scrollback = options.keeps_scrollback || variable("STY").is_some();
    let mut terminal = Terminal::enter()?;
    let depth = Depth::detect(variable);
    // Without colours it makes no difference, and the simplest terminals print the question.
    let is_simple = variable("TERM").is_none_or(|term| term == "linux" || term == "dumb");
    let surroundings = match is_simple {
        true => Surroundings::Closed,
        false => Surroundings::detect(variable),
    };
    let background = chosen.is_none() && depth != Depth::None && !is_simple;
    terminal.ask(&questions(background, surroundings))?;
    let studio = Studio::new(surroundings, terminal.answers());
    let mut chat = Chat {
        app,
        renderer: Renderer::new(depth),
        terminal,
        runtime,
        work: None,
        aside: None,
        jobs: JoinSet::new(),
        shell: None,
        guest: None,
        guest_left: None,
        chosen_model: None,
        sessions: Arc::default(),
        studio,
        begun: Instant::now(),
        draw_at: None,
        resized: None,
        options,
    };
    let ending = chat.live().await;
    let ended = chat.end().await;
    match ending {
        // Nothing can be written there any more.
        Ok(Ending::TerminalGone) => ending,
        _ => ended.and(ending),
    }
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
    /// What a command of the user prints, and what stops it.
    shell: Option<(mpsc::Receiver<String>, CancellationToken)>,
    /// Another program that has the terminal, until it ends with an input.
    guest: Option<Pin<Box<dyn Future<Output = Input>>>>,
    /// When the last of them ended.
    guest_left: Option<Instant>,
    /// By the user, with `/model`.
    chosen_model: Option<String>,
    /// Those that were listed last.
    sessions: Arc<[Summary]>,
    /// Draws the pictures, where the terminal can show them.
    studio: Studio,
    begun: Instant,
    /// Something has changed and is drawn then.
    draw_at: Option<Instant>,
    resized: Option<Resized>,
    options: Options,
}

/// The window is getting another size, step by step while it is dragged.
struct Resized {
    size: (usize, usize),
    /// When it has not changed any more for long enough.
    settled: Instant,
}

struct Signals {
    terminate: Signal,
    hang_up: Signal,
    /// While another program has the terminal, meant for that.
    interrupt: Signal,
}

impl Chat {
    async fn live(&mut self) -> io::Result<Ending> {
        let mut signals = Signals {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
        };
        for warning in std::mem::take(&mut self.options.warnings) {
            let note = Input::Note {
                text: warning,
                is_error: false,
            };
            self.take(note)?;
        }
        if let Some(earlier) = listings::resumed(&self.runtime, RESUMED_MESSAGES) {
            self.take(earlier)?;
        }
        if self.options.picks_session {
            let sessions = self.list_sessions();
            self.take(sessions)?;
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
                _ = signals.interrupt.recv() => match self.is_guests_interrupt() {
                    true => None,
                    false => self.take_soon(Input::Key(Key::control('c')))?,
                },
                input = next_guest(&mut self.guest) => {
                    self.guest = None;
                    self.guest_left = Some(Instant::now());
                    self.take_back()?;
                    let ending = self.take(input)?;
                    self.draw()?;
                    ending
                }
                input = self.terminal.next() => match input {
                    Some(Ok(Input::Resized { columns, rows })) => {
                        self.resized = Some(Resized {
                            size: (columns, rows),
                            settled: Instant::now() + SETTLING,
                        });
                        None
                    }
                    Some(Ok(input)) => {
                        let input = self.with_dropped(input);
                        let ending = self.take(input)?;
                        // A key is answered at once, not at the next beat of the timer.
                        self.draw()?;
                        ending
                    }
                    _ => Some(Ending::TerminalGone),
                },
                () = until(self.resized.as_ref().map(|resized| resized.settled)) => {
                    self.take_resize()?;
                    None
                }
                () = until(self.draw_at) => {
                    self.draw()?;
                    None
                }
                Some(drawings) = self.studio.next() => {
                    for drawing in drawings {
                        self.take_soon(Input::Picture(drawing))?;
                    }
                    None
                }
                // What comes after a picture is shown after it.
                event = next_event(&mut self.work), if !self.studio.is_busy() => {
                    self.take_burst(event)?
                }
                event = next_event(&mut self.aside) => self.take_aside(event)?,
                Some(text) = next_output(&mut self.shell) => {
                    self.take_soon(Input::ShellProgress(text))?
                }
                // A command opens a panel before its extension draws there.
                Some(done) = self.jobs.join_next() => {
                    let mut ending = None;
                    // One that panicked has nothing to say, but has disturbed the screen.
                    self.draw_at.get_or_insert_with(|| Instant::now() + FRAME);
                    for input in done.unwrap_or_default() {
                        ending = ending.or(self.take_soon(input)?);
                    }
                    ending
                }
                notice = self.runtime.next_notice() => {
                    let input = match notice {
                        ExtensionNotice::Event(event) => Input::Agent(event),
                        ExtensionNotice::Warning(text) => Input::Note { text, is_error: true },
                    };
                    self.take_soon(input)?
                }
                () = until(tick) => {
                    self.take_news()?;
                    self.take_soon(Input::Tick)?
                }
            };
            if let Some(ending) = ending {
                return Ok(ending);
            }
        }
    }

    /// Whether ctrl+c was for a program that has, or had until now, the terminal. That it has ended
    /// may be known before the signal is that ended it.
    fn is_guests_interrupt(&self) -> bool {
        let just_left = self
            .guest_left
            .is_some_and(|when| when.elapsed() < GUEST_LEAVES);
        self.guest.is_some() || just_left
    }

    fn take_resize(&mut self) -> io::Result<()> {
        if let Some(Resized { size, .. }) = self.resized.take() {
            let (columns, rows) = size;
            self.take(Input::Resized { columns, rows })?;
            self.draw()?;
        }
        Ok(())
    }

    /// Takes an event and all that have come with it.
    fn take_burst(&mut self, first: Option<Event>) -> io::Result<Option<Ending>> {
        let mut next = first;
        for _ in 0..MAX_BURST {
            let Some(event) = next else {
                self.work = None;
                self.refresh_info()?;
                return self.take_soon(Input::WorkEnded);
            };
            self.take_news()?;
            let pictures = self.pictures(&event);
            if let Some(ending) = self.take_soon(Input::Agent(event))? {
                return Ok(Some(ending));
            }
            let (columns, rows) = self.app.size();
            self.studio.draw(pictures, columns, rows / 2);
            if self.studio.is_busy() {
                break;
            }
            let Some(work) = &mut self.work else { break };
            next = match work.next_now() {
                Some(event) => event,
                None => break,
            };
        }
        Ok(None)
    }

    /// What is going on between the events.
    fn take_news(&mut self) -> io::Result<()> {
        let watch = self.options.watch.as_ref();
        if watch.is_some_and(|watch| watch.has_compaction()) {
            self.take(Input::Compaction)?;
        }
        Ok(())
    }

    /// The pictures that an event tells of.
    fn pictures(&self, event: &Event) -> Vec<Image> {
        match (&self.options.watch, event) {
            (Some(watch), Event::ToolResult { id, .. }) => watch.pictures.take(id),
            (Some(watch), Event::UserMessage { .. }) => watch.pictures.take(""),
            _ => Vec::new(),
        }
    }

    /// What was dropped on the terminal is mentioned.
    fn with_dropped(&self, input: Input) -> Input {
        let Input::Paste(text) = input else {
            return input;
        };
        let home = std::env::home_dir();
        match dropped::mentions(&text, self.runtime.cwd(), home.as_deref()) {
            Some(mentions) => Input::Insert(mentions),
            None => Input::Paste(text),
        }
    }

    fn take_aside(&mut self, event: Option<Event>) -> io::Result<Option<Ending>> {
        let input = match event {
            Some(event) => Input::Aside(event),
            None => {
                self.aside = None;
                // What it cost is counted.
                self.refresh_info()?;
                Input::AsideEnded
            }
        };
        self.take_soon(input)
    }

    fn refresh_info(&mut self) -> io::Result<()> {
        self.take_soon(Input::Info(info(&self.runtime)))?;
        Ok(())
    }

    fn take_soon(&mut self, input: Input) -> io::Result<Option<Ending>> {
        let ending = self.take(input)?;
        self.draw_at.get_or_insert_with(|| Instant::now() + FRAME);
        Ok(ending)
    }

    fn take(&mut self, input: Input) -> io::Result<Option<Ending>> {
        let now_ms = self.begun.elapsed().as_millis() as u64;
        if matches!(input, Input::Resized { .. }) && self.studio.is_outdated() {
            self.app.forget_pictures();
        }
        let mut inputs = vec![input];
        while !inputs.is_empty() {
            for input in std::mem::take(&mut inputs) {
                for effect in self.app.update(now_ms, input) {
                    match effect {
                        Effect::Quit => return Ok(Some(Ending::Left)),
                        Effect::Resume { session, fork } => {
                            match self.begin_again(session, fork) {
                                Ok(ending) => return Ok(Some(ending)),
                                Err(text) => inputs.push(Input::Note {
                                    text,
                                    is_error: true,
                                }),
                            }
                            continue;
                        }
                        _ => {}
                    }
                    inputs.extend(self.perform(effect)?);
                }
            }
        }
        Ok(None)
    }

    fn draw(&mut self) -> io::Result<()> {
        self.draw_at = None;
        if self.guest.is_some() {
            return Ok(());
        }
        if let Some(panic) = self.terminal.regain()? {
            self.take(Input::Panicked(panic))?;
        }
        if self.resized.is_some() {
            // It is drawn when that is over.
            return Ok(());
        }
        let (_, rows) = self.app.size();
        let frame = self.app.frame(self.renderer.above());
        let mut bytes = String::new();
        if frame.replaces != Replaces::Nothing {
            bytes.push_str(self.studio.wipe());
        }
        bytes.push_str(&self.renderer.draw(frame, rows));
        match bytes.is_empty() {
            true => Ok(()),
            false => self.terminal.write(bytes.as_bytes()),
        }
    }

    fn list_sessions(&mut self) -> Input {
        match listings::sessions(&self.runtime) {
            Ok(sessions) => {
                self.sessions = sessions.into();
                Input::Sessions(listings::session_names(&self.sessions))
            }
            Err(text) => Input::Note {
                text,
                is_error: false,
            },
        }
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
            let now_ms = self.begun.elapsed().as_millis() as u64;
            let app = &mut self.app;
            let wind_down = async {
                while let Some(event) = work.next().await {
                    app.update(now_ms, Input::Agent(event));
                }
            };
            let _ = timeout(WIND_DOWN, wind_down).await;
            self.app.wind_up();
        }
        self.jobs.shutdown().await;
        self.studio.shutdown().await;
        // What was said stays.
        let drawn = self.draw();
        let bytes = self.renderer.clear();
        let written = drawn.and(self.terminal.write(bytes.as_bytes()));
        drop(self.terminal);
        self.runtime.close().await;
        written
    }
}

/// What the terminal has to be asked.
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

async fn next_event(work: &mut Option<EventStream>) -> Option<Event> {
    match work {
        Some(work) => work.next().await,
        None => std::future::pending().await,
    }
}

async fn next_guest(guest: &mut Option<Pin<Box<dyn Future<Output = Input>>>>) -> Input {
    match guest {
        Some(guest) => guest.await,
        None => std::future::pending().await,
    }
}

async fn next_output(
    shell: &mut Option<(mpsc::Receiver<String>, CancellationToken)>,
) -> Option<String> {
    match shell {
        Some((output, _)) => output.recv().await,
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
        is_jailed: runtime.jailed().is_some(),
    }
}
