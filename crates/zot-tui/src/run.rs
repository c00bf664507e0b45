//! The loop of the chat: connects the terminal, the agent and the state.

mod agent;
mod assembling;
mod bounded;
mod dropped;
mod editor_program;
mod effects;
mod events;
mod exports;
mod extensions;
mod farewell;
mod files;
mod guest;
mod history_file;
mod image_renderer;
mod info;
mod listings;
mod login;
mod mcp;
mod plain;
mod previews;
mod reading;
mod resizing;
mod restarting;
mod sandbox;
mod saved_model;
mod sessions;
mod shell;
mod themes;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::process::Child;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use zot_process::{EndSignal, EndSignals};
use zot_sdk::sessions::Summary;
use zot_sdk::{EventStream, Runtime};

use crate::app::{App, Input, Key, Listed, PickerKind, Prompt, ShellInput};
use crate::renderer::{Narrowing, Renderer, Replaces};
use crate::terminal::Terminal;

use assembling::assemble;
use events::next_event;
use farewell::Farewell;
use guest::{Guest, next_guest};
use image_renderer::ImageRenderer;
use login::{Login, next_login};
use mcp::{ServerLogin, next_server_login};
use plain::Plain;
use resizing::Resized;
pub use restarting::{AttachedOutput, Inherited};
pub use saved_model::SavedModel;
use shell::{Running, next_output};

/// The shortest time between two drawings while a response streams; keys are drawn immediately.
const FRAME_TIME: Duration = Duration::from_millis(33);

/// How many messages of a resumed conversation are shown.
const RESUMED_MESSAGES: usize = 40;

/// How long a cancelled prompt may take to end when the user leaves.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(3);

/// How the chat starts.
#[derive(Clone, Default)]
pub struct Options {
    /// `light`, `dark` or a file in `themes`; detected when not given.
    pub theme: Option<String>,
    /// A new width of the window leaves the scrollback alone.
    pub keeps_scrollback: bool,
    /// Images are described, even if the terminal can draw them.
    pub describes_images: bool,
    /// Where the chosen model is saved.
    pub saved_model: Option<SavedModel>,
    /// Where the user's themes are.
    pub themes: Option<PathBuf>,
    /// The user picks a session first.
    pub picks_session: bool,
    /// Sent immediately, or after a session is picked.
    pub prompt: Option<String>,
    /// The text in the editor.
    pub draft: Option<String>,
    /// Output attached to the first prompt.
    pub attached: AttachedOutput,
    /// Where the history of prompts is stored.
    pub history: Option<PathBuf>,
    /// Where sessions are stored.
    pub sessions: Option<PathBuf>,
    /// Shown first.
    pub warnings: Vec<String>,
}

/// Why the chat ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Left,
    /// The chat restarts with this session.
    Restarted {
        session: Option<PathBuf>,
        inherited: Box<Inherited>,
    },
    Signal(EndSignal),
    /// The terminal has closed.
    TerminalClosed,
}

/// Runs the chat until the user leaves.
pub async fn run(runtime: Arc<Runtime>, options: Options) -> io::Result<Ending> {
    let mut chat = assemble(runtime, options)?;
    let ending = chat.run().await;
    let farewell = match &ending {
        Ok(Ending::Left | Ending::Signal(EndSignal::Interrupted | EndSignal::Terminated)) => {
            chat.farewell()
        }
        _ => None,
    };
    let ended = chat.end(farewell).await;
    match ending {
        // The terminal cannot be restored.
        Ok(Ending::TerminalClosed) => ending,
        _ => ended.and(ending),
    }
}

struct Chat {
    app: App,
    runtime: Arc<Runtime>,
    terminal: Terminal,
    screen: Screen,
    tasks: Tasks,
    /// The model that the user chose with `/model`.
    chosen_model: Option<String>,
    /// The last listed sessions.
    sessions: Arc<[Summary]>,
    image_renderer: ImageRenderer,
    started: Instant,
    /// Set in a terminal that handles only lines.
    plain: Option<Plain>,
    options: Options,
}

/// What is drawn, and when.
struct Screen {
    renderer: Renderer,
    /// When to draw what has changed.
    draw_at: Option<Instant>,
    resized: Option<Resized>,
    /// Covers the chat while the transcript is read.
    fullscreen: Option<reading::Covered>,
    narrowing: Narrowing,
}

/// What runs next to the loop and results in inputs.
#[derive(Default)]
struct Tasks {
    /// The prompt or compaction.
    work: Option<EventStream>,
    /// A side question, which ends when dropped.
    aside: Option<EventStream>,
    /// Commands of extensions, listings, operations on sessions.
    jobs: JoinSet<Vec<Input>>,
    /// A running `!command`.
    shell: Option<Running>,
    /// Another program that controls the terminal.
    guest: Option<Guest>,
    /// When the last such program ended.
    guest_ended: Option<Instant>,
    login: Option<Login>,
    /// A login at an MCP server.
    server_login: Option<ServerLogin>,
    /// What opened the last page; it may be the browser itself.
    browser: Option<Child>,
}

impl Chat {
    async fn run(&mut self) -> io::Result<Ending> {
        let mut signals = EndSignals::new()?;
        self.begin()?;
        loop {
            if let Some(ending) = self.step(&mut signals).await? {
                return Ok(ending);
            }
        }
    }

    /// Shows what precedes the first input.
    fn begin(&mut self) -> io::Result<()> {
        for warning in std::mem::take(&mut self.options.warnings) {
            self.handle(Input::note(warning))?;
        }
        if let Some(earlier) = listings::resumed(&self.runtime, RESUMED_MESSAGES) {
            self.handle(earlier)?;
        }
        let mut picks = false;
        if self.options.picks_session {
            let sessions = self.list_sessions();
            picks = matches!(&sessions, Input::Listed(Listed::Sessions(sessions)) if !sessions.is_empty());
            self.handle(sessions)?;
        }
        self.app.composer.shell.outputs = std::mem::take(&mut self.options.attached).0;
        self.list_commands();
        for input in self.ask_about_project() {
            self.handle(input)?;
        }
        // If the user picks no session, the prompt stays in the editor.
        let unsent = self.options.prompt.clone().filter(|_| picks);
        if let Some(draft) = self.options.draft.take().or(unsent) {
            self.handle(Input::Edited(draft))?;
        }
        if !picks && let Some(prompt) = self.options.prompt.take() {
            self.handle(Input::Prompt(Prompt::typed(prompt)))?;
        }
        self.draw()
    }

    /// Waits for the next thing to happen and handles it.
    async fn step(&mut self, signals: &mut EndSignals) -> io::Result<Option<Ending>> {
        let tick = self.app.next_tick_ms().map(Duration::from_millis);
        let tick = tick.map(|after| Instant::now() + after);
        tokio::select! {
                    biased;
                    signal = signals.next() => self.handle_signal(signal),
                    input = next_guest(&mut self.tasks.guest) => {
                        self.tasks.guest = None;
                        self.tasks.guest_ended = Some(Instant::now());
        self.regain_terminal()?;
                        let ending = self.handle(input)?;
                        self.draw()?;
                        Ok(ending)
                    }
                    input = self.terminal.next() => self.handle_terminal_input(input),
                    inputs = next_login(&mut self.tasks.login) => self.handle_all(inputs),
                    outcome = next_server_login(&mut self.tasks.server_login) => {
                        let inputs = self.end_server_login(outcome);
                        self.handle_all(inputs)
                    }
                    () = until(self.screen.resized.as_ref().map(Resized::due)) => {
                        self.continue_resize()?;
                        Ok(None)
                    }
                    () = until(self.screen.draw_at) => {
                        self.draw()?;
                        Ok(None)
                    }
                    Some(drawings) = self.image_renderer.next() => {
                        self.handle_all(drawings.into_iter().map(Input::Image))
                    }
        // What follows an image is shown after it.
                    event = next_event(&mut self.tasks.work), if !self.image_renderer.is_busy() => {
                        self.handle_events(event)
                    }
                    event = next_event(&mut self.tasks.aside) => self.handle_aside(event),
                    Some(text) = next_output(&mut self.tasks.shell) => {
                        self.handle_and_draw_soon(Input::Shell(ShellInput::Progress(text)))
                    }
                    // A command opens a panel before its extension draws there.
                    Some(done) = self.tasks.jobs.join_next() => {
        // A job that panicked returns no input, but has disturbed the screen.
                        self.screen.draw_at.get_or_insert_with(|| Instant::now() + FRAME_TIME);
                        self.handle_all(done.unwrap_or_default())
                    }
                    notice = self.runtime.next_notice() => self.handle_and_draw_soon(Input::Extension(notice)),
                    _ = self.runtime.next_mcp_change() => self.handle_server_change(),
                    () = until(tick) => self.handle_and_draw_soon(Input::Tick),
                }
    }

    fn handle_terminal_input(
        &mut self,
        input: Option<io::Result<Input>>,
    ) -> io::Result<Option<Ending>> {
        match input {
            Some(Ok(Input::Line(line))) => self.handle_line(line),
            // The terminal wraps lines itself.
            Some(Ok(Input::Resized { .. })) if self.plain.is_some() => Ok(None),
            // The end of the input leaves the chat.
            None if self.plain.is_some() => Ok(Some(Ending::Left)),
            Some(Ok(Input::Resized { columns, rows })) => {
                self.screen.resized = Some(Resized::unsettled((columns, rows)));
                Ok(None)
            }
            Some(Ok(Input::Cursor { row, column })) => {
                self.locate_live_part(Some((row, column)))?;
                Ok(None)
            }
            Some(Ok(input)) => {
                let input = self.with_dropped(input);
                let ending = self.handle(input)?;
                if !self.app.picker.is_open(PickerKind::Sessions) {
                    // The prompt waited only for the first list of sessions.
                    self.options.prompt = None;
                }
                // A key takes effect immediately, not at the next frame.
                self.draw()?;
                Ok(ending)
            }
            Some(Err(_)) | None => Ok(Some(Ending::TerminalClosed)),
        }
    }

    /// Handles inputs that arrived together, and returns the first ending.
    fn handle_all(
        &mut self,
        inputs: impl IntoIterator<Item = Input>,
    ) -> io::Result<Option<Ending>> {
        let mut ending = None;
        for input in inputs {
            ending = ending.or(self.handle_and_draw_soon(input)?);
        }
        Ok(ending)
    }

    fn handle_signal(&mut self, signal: EndSignal) -> io::Result<Option<Ending>> {
        match signal {
            EndSignal::Interrupted if self.is_interrupt_for_guest() => Ok(None),
            EndSignal::Interrupted => self.handle_and_draw_soon(Input::Key(Key::control('c'))),
            EndSignal::HungUp | EndSignal::Terminated => Ok(Some(Ending::Signal(signal))),
        }
    }

    /// Turns files that were dropped on the terminal into mentions.
    fn with_dropped(&self, input: Input) -> Input {
        let Input::Paste(text) = input else {
            return input;
        };
        if self.app.login.is_open() {
            return Input::Paste(text);
        }
        let home = std::env::home_dir();
        match dropped::mentions(&text, self.runtime.cwd(), home.as_deref()) {
            Some(mentions) => Input::Insert(mentions),
            None => Input::Paste(text),
        }
    }

    fn handle_and_draw_soon(&mut self, input: Input) -> io::Result<Option<Ending>> {
        let ending = self.handle(input)?;
        self.screen
            .draw_at
            .get_or_insert_with(|| Instant::now() + FRAME_TIME);
        Ok(ending)
    }

    fn handle(&mut self, input: Input) -> io::Result<Option<Ending>> {
        let now_ms = self.started.elapsed().as_millis() as u64;
        if matches!(input, Input::Resized { .. }) && self.image_renderer.is_outdated() {
            self.app.transcript.forget_images();
        }
        let mut inputs = vec![input];
        while !inputs.is_empty() {
            for input in std::mem::take(&mut inputs) {
                let delta = self.delta_to_print(&input);
                let effects = self.app.update(now_ms, input);
                if let Some(delta) = delta {
                    self.print_delta(&delta)?;
                }
                for effect in effects {
                    match self.perform(effect)? {
                        ControlFlow::Break(ending) => return Ok(Some(ending)),
                        ControlFlow::Continue(following) => inputs.extend(following),
                    }
                }
            }
        }
        Ok(None)
    }

    fn draw(&mut self) -> io::Result<()> {
        self.screen.draw_at = None;
        if self.tasks.guest.is_some() {
            return Ok(());
        }
        if self.plain.is_some() {
            return self.print();
        }
        if let Some(panic) = self.terminal.regain()? {
            self.screen.fullscreen = None;
            self.app.pager = None;
            self.handle(Input::Panicked(panic))?;
        }
        if self.screen.resized.is_some() {
            // Drawn when the resize is over.
            return Ok(());
        }
        if self.draw_fullscreen()? {
            return Ok(());
        }
        let (_, rows) = self.app.size();
        let frame = self.app.frame(self.screen.renderer.above());
        let mut bytes = String::new();
        if frame.replaces != Replaces::Nothing {
            bytes.push_str(self.image_renderer.wipe());
        }
        bytes.push_str(&self.screen.renderer.draw(frame, rows));
        if !bytes.is_empty() {
            self.terminal.write(bytes.as_bytes())?;
        }
        // Unfolding may have opened the pager.
        self.draw_fullscreen().map(|_| ())
    }

    /// Ends everything and restores the terminal.
    async fn end(mut self, farewell: Option<Farewell>) -> io::Result<()> {
        if let Some(mut work) = self.tasks.work.take() {
            self.runtime.cancel();
            let now_ms = self.started.elapsed().as_millis() as u64;
            let app = &mut self.app;
            let drain = async {
                while let Some(event) = work.next().await {
                    app.update(now_ms, Input::Agent(event));
                }
            };
            let _ = timeout(CANCEL_TIMEOUT, drain).await;
            self.app.shut_down();
        }
        self.tasks.jobs.shutdown().await;
        self.image_renderer.shutdown().await;
        let size = self.leave_fullscreen()?;
        if let Some(size) = self
            .screen
            .resized
            .take()
            .map(|resized| resized.size())
            .or(size)
        {
            // There is no time to ask for the cursor's position.
            self.screen
                .renderer
                .relocate(None, size, self.screen.narrowing);
        }
        // The finished lines stay on the screen.
        let drawn = self.draw();
        let bytes = match self.plain {
            Some(_) => self.last_line_end().to_owned(),
            None => self.screen.renderer.clear(),
        };
        let written = drawn.and(self.terminal.write(bytes.as_bytes()));
        drop(self.terminal);
        if let Some(farewell) = farewell {
            farewell.print(&self.runtime)?;
        }
        self.runtime.close().await;
        written
    }
}

async fn until(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
