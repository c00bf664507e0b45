//! Connects the terminal, the agent and the state.

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
mod jail;
mod listings;
mod login;
mod model_choice;
mod plain;
mod previews;
mod reading;
mod resizing;
mod restarting;
mod sessions;
mod shell;
mod themes;

use std::io;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

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
pub use model_choice::ModelChoice;
use plain::Plain;
use resizing::Resized;
pub use restarting::{Carried, Waiting};
use shell::{Running, next_output};

/// The shortest time between two drawings while a response streams; keys are drawn at once.
const FRAME: Duration = Duration::from_millis(33);

/// How many messages of a resumed conversation are shown.
const RESUMED_MESSAGES: usize = 40;

/// How long a cancelled prompt may take to wind down when the user leaves.
const WIND_DOWN: Duration = Duration::from_secs(3);

/// How the chat starts.
#[derive(Clone, Default)]
pub struct Options {
    /// `light`, `dark` or a file in `themes`; detected when not given.
    pub theme: Option<String>,
    /// A new width of the window leaves what has been written alone.
    pub keeps_scrollback: bool,
    /// Images are described, even if the terminal can draw them.
    pub describes_images: bool,
    /// Where the chosen model is kept.
    pub model_choice: Option<ModelChoice>,
    /// Where the user's themes are.
    pub themes: Option<PathBuf>,
    /// The user picks a session first.
    pub picks_session: bool,
    /// Sent at once, or after a session is picked.
    pub prompt: Option<String>,
    /// The text in the editor.
    pub draft: Option<String>,
    /// Goes with the first prompt.
    pub waiting: Waiting,
    /// Where prompts are remembered.
    pub history: Option<PathBuf>,
    /// Where sessions are kept.
    pub sessions: Option<PathBuf>,
    /// Shown first.
    pub warnings: Vec<String>,
}

/// Why the chat ended.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    Left,
    /// Restarts with this session.
    Again {
        session: Option<PathBuf>,
        carried: Box<Carried>,
    },
    Signal(EndSignal),
    /// The terminal went away.
    TerminalGone,
}

/// Runs the chat until the user leaves.
pub async fn run(runtime: Arc<Runtime>, options: Options) -> io::Result<Ending> {
    let mut chat = assemble(runtime, options)?;
    let ending = chat.live().await;
    let farewell = match &ending {
        Ok(Ending::Left | Ending::Signal(EndSignal::Interrupted | EndSignal::Terminated)) => {
            chat.farewell()
        }
        _ => None,
    };
    let ended = chat.end(farewell).await;
    match ending {
        // Nothing can be written to the terminal.
        Ok(Ending::TerminalGone) => ending,
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
    /// The sessions that were listed last.
    sessions: Arc<[Summary]>,
    image_renderer: ImageRenderer,
    started: Instant,
    /// In a terminal that handles nothing but lines.
    plain: Option<Plain>,
    options: Options,
}

/// What is drawn, and when.
struct Screen {
    renderer: Renderer,
    /// Something has changed and is drawn then.
    draw_at: Option<Instant>,
    resized: Option<Resized>,
    /// Covers the chat while the transcript is read.
    fullscreen: Option<reading::Covered>,
    narrowing: Narrowing,
}

/// What runs beside the loop and ends with inputs.
#[derive(Default)]
struct Tasks {
    /// The prompt or compaction.
    work: Option<EventStream>,
    /// A side question; dropping it ends it.
    aside: Option<EventStream>,
    /// Commands of extensions, listings, operations on sessions.
    jobs: JoinSet<Vec<Input>>,
    /// A command of the user.
    shell: Option<Running>,
    /// Another program that has the terminal.
    guest: Option<Guest>,
    /// When the last of them ended.
    guest_left: Option<Instant>,
    login: Option<Login>,
}

impl Chat {
    async fn live(&mut self) -> io::Result<Ending> {
        let mut signals = EndSignals::new()?;
        self.begin()?;
        loop {
            if let Some(ending) = self.step(&mut signals).await? {
                return Ok(ending);
            }
        }
    }

    /// Shows what is there before the first input.
    fn begin(&mut self) -> io::Result<()> {
        for warning in std::mem::take(&mut self.options.warnings) {
            self.take(Input::note(warning))?;
        }
        if let Some(earlier) = listings::resumed(&self.runtime, RESUMED_MESSAGES) {
            self.take(earlier)?;
        }
        let mut picks = false;
        if self.options.picks_session {
            let sessions = self.list_sessions();
            picks = matches!(&sessions, Input::Listed(Listed::Sessions(sessions)) if !sessions.is_empty());
            self.take(sessions)?;
        }
        self.app.composer.shell.outputs = std::mem::take(&mut self.options.waiting).0;
        self.list_commands();
        // Without a choice the prompt is in the editor.
        let unsent = self.options.prompt.clone().filter(|_| picks);
        if let Some(draft) = self.options.draft.take().or(unsent) {
            self.take(Input::Edited(draft))?;
        }
        if !picks && let Some(prompt) = self.options.prompt.take() {
            self.take(Input::Prompt(Prompt::typed(prompt)))?;
        }
        self.draw()
    }

    /// Waits for what happens next and takes it.
    async fn step(&mut self, signals: &mut EndSignals) -> io::Result<Option<Ending>> {
        let tick = self.app.next_tick_ms().map(Duration::from_millis);
        let tick = tick.map(|after| Instant::now() + after);
        tokio::select! {
            biased;
            signal = signals.next() => self.take_signal(signal),
            input = next_guest(&mut self.tasks.guest) => {
                self.tasks.guest = None;
                self.tasks.guest_left = Some(Instant::now());
                self.take_back()?;
                let ending = self.take(input)?;
                self.draw()?;
                Ok(ending)
            }
            input = self.terminal.next() => self.take_from_terminal(input),
            inputs = next_login(&mut self.tasks.login) => self.take_all(inputs),
            () = until(self.screen.resized.as_ref().map(Resized::when)) => {
                self.take_resize()?;
                Ok(None)
            }
            () = until(self.screen.draw_at) => {
                self.draw()?;
                Ok(None)
            }
            Some(drawings) = self.image_renderer.next() => {
                self.take_all(drawings.into_iter().map(Input::Image))
            }
            // What comes after an image is shown after it.
            event = next_event(&mut self.tasks.work), if !self.image_renderer.is_busy() => {
                self.take_burst(event)
            }
            event = next_event(&mut self.tasks.aside) => self.take_aside(event),
            Some(text) = next_output(&mut self.tasks.shell) => {
                self.take_soon(Input::Shell(ShellInput::Progress(text)))
            }
            // A command opens a panel before its extension draws there.
            Some(done) = self.tasks.jobs.join_next() => {
                // A job that panicked returns nothing, but has disturbed the screen.
                self.screen.draw_at.get_or_insert_with(|| Instant::now() + FRAME);
                self.take_all(done.unwrap_or_default())
            }
            notice = self.runtime.next_notice() => self.take_soon(Input::Extension(notice)),
            () = until(tick) => self.take_soon(Input::Tick),
        }
    }

    fn take_from_terminal(
        &mut self,
        input: Option<io::Result<Input>>,
    ) -> io::Result<Option<Ending>> {
        match input {
            Some(Ok(Input::Line(line))) => self.take_line(line),
            // Lines are not wrapped.
            Some(Ok(Input::Resized { .. })) if self.plain.is_some() => Ok(None),
            // The end of the input is how one leaves.
            None if self.plain.is_some() => Ok(Some(Ending::Left)),
            Some(Ok(Input::Resized { columns, rows })) => {
                self.screen.resized = Some(Resized::step((columns, rows)));
                Ok(None)
            }
            Some(Ok(Input::Cursor { row, column })) => {
                self.find_live(Some((row, column)))?;
                Ok(None)
            }
            Some(Ok(input)) => {
                let input = self.with_dropped(input);
                let ending = self.take(input)?;
                if !self.app.picker.is_open(PickerKind::Sessions) {
                    // It waited for the list that was shown first, not for any.
                    self.options.prompt = None;
                }
                // A key is answered at once, not at the next frame.
                self.draw()?;
                Ok(ending)
            }
            Some(Err(_)) | None => Ok(Some(Ending::TerminalGone)),
        }
    }

    /// Takes inputs that came together; the first ending counts.
    fn take_all(&mut self, inputs: impl IntoIterator<Item = Input>) -> io::Result<Option<Ending>> {
        let mut ending = None;
        for input in inputs {
            ending = ending.or(self.take_soon(input)?);
        }
        Ok(ending)
    }

    fn take_signal(&mut self, signal: EndSignal) -> io::Result<Option<Ending>> {
        match signal {
            EndSignal::Interrupted if self.is_guests_interrupt() => Ok(None),
            EndSignal::Interrupted => self.take_soon(Input::Key(Key::control('c'))),
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

    fn take_soon(&mut self, input: Input) -> io::Result<Option<Ending>> {
        let ending = self.take(input)?;
        self.screen
            .draw_at
            .get_or_insert_with(|| Instant::now() + FRAME);
        Ok(ending)
    }

    fn take(&mut self, input: Input) -> io::Result<Option<Ending>> {
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
            self.take(Input::Panicked(panic))?;
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

    /// Winds down and restores the terminal.
    async fn end(mut self, farewell: Option<Farewell>) -> io::Result<()> {
        if let Some(mut work) = self.tasks.work.take() {
            self.runtime.cancel();
            let now_ms = self.started.elapsed().as_millis() as u64;
            let app = &mut self.app;
            let wind_down = async {
                while let Some(event) = work.next().await {
                    app.update(now_ms, Input::Agent(event));
                }
            };
            let _ = timeout(WIND_DOWN, wind_down).await;
            self.app.wind_up();
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
            // There is no time left to ask for the cursor.
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
