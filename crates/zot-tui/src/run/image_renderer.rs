//! Draws images beside the loop, which keeps answering keys.

use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zot_sdk::Image;

use crate::image::{Drawing, Easel, Protocol, Surroundings, TMUX_FORMAT, in_tmux, number};
use crate::terminal::{Answers, Terminal};

/// How long the terminal may take to report its capabilities, from the first image on.
const IMAGE_QUERY_TIME: Duration = Duration::from_secs(1);

/// The same for tmux.
const TMUX_TIME: Duration = Duration::from_secs(1);

/// The conversation continues without images that take longer.
///
/// Limit: the image is only described.
const DRAWING_TIME: Duration = Duration::from_secs(3);

/// Draws images, those of one event at a time.
pub(super) struct ImageRenderer {
    surroundings: Surroundings,
    answers: watch::Receiver<Answers>,
    jobs: JoinSet<Vec<Drawing>>,
    /// The number of images so far.
    count: u32,
    /// The size of a cell when they were drawn.
    cell: Option<(usize, usize)>,
}

impl ImageRenderer {
    pub(super) fn new(surroundings: Surroundings, answers: watch::Receiver<Answers>) -> Self {
        Self {
            surroundings,
            answers,
            jobs: JoinSet::new(),
            count: 0,
            cell: None,
        }
    }

    /// Starts to draw; [`next`](Self::next) returns the drawings.
    pub(super) fn draw(&mut self, images: Vec<Image>, columns: usize, rows: usize) {
        if images.is_empty() || self.surroundings == Surroundings::Closed {
            return;
        }
        self.cell = Terminal::cell();
        let first = self.count;
        self.count = first.wrapping_add(u32::try_from(images.len()).unwrap_or(0));
        let easel = easel(self.surroundings, self.answers.clone());
        let draw = async move {
            let Some(easel) = easel.await else {
                return Vec::new();
            };
            let drawn = tokio::task::spawn_blocking(move || {
                let numbers = (0..).map(|index| number(std::process::id(), first + index));
                let numbered = images.iter().zip(numbers);
                numbered
                    .filter_map(|(image, number)| easel.draw(&image.data, columns, rows, number))
                    .collect()
            });
            drawn.await.unwrap_or_default()
        };
        self.jobs
            .spawn(async { timeout(DRAWING_TIME, draw).await.unwrap_or_default() });
    }

    pub(super) fn is_busy(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Waits for drawings; `None` when none are being made.
    pub(super) async fn next(&mut self) -> Option<Vec<Drawing>> {
        let done = self.jobs.join_next().await?;
        Some(done.unwrap_or_default())
    }

    /// The sequence that removes images from the screen, where they are not part of the text.
    pub(super) fn wipe(&self) -> &'static str {
        match self.count {
            0 => "",
            _ => self.surroundings.wipe(),
        }
    }

    /// Whether drawings of pixels no longer fill their cells.
    pub(super) fn is_outdated(&self) -> bool {
        let is_of_cells = matches!(self.surroundings, Surroundings::Known(_));
        self.count > 0 && !is_of_cells && self.cell != Terminal::cell()
    }

    pub(super) async fn shutdown(&mut self) {
        self.jobs.shutdown().await;
    }
}

/// How images are shown here; may have to ask the terminal.
async fn easel(surroundings: Surroundings, answers: watch::Receiver<Answers>) -> Option<Easel> {
    let protocol = match surroundings {
        Surroundings::Known(protocol) => protocol,
        Surroundings::Closed => return None,
        Surroundings::Terminal | Surroundings::Tmux => {
            let mut answers = answers.clone();
            let answered = answers.wait_for(|answers| answers.sixel.is_some());
            let has_sixel = match timeout(IMAGE_QUERY_TIME, answered).await {
                Ok(Ok(answers)) => answers.sixel == Some(true),
                _ => false,
            };
            match (has_sixel, surroundings) {
                (true, _) => Protocol::Sixel,
                (false, Surroundings::Tmux) => ask_tmux().await?,
                (false, _) => return None,
            }
        }
    };
    let cell = Terminal::cell().or(answers.borrow().cell);
    Some(Easel { protocol, cell })
}

/// Asked for every image: another terminal may have been attached since.
async fn ask_tmux() -> Option<Protocol> {
    let mut command = Command::new("tmux");
    command.args(["display-message", "-p"]);
    if let Some(pane) = std::env::var_os("TMUX_PANE") {
        command.arg("-t").arg(pane);
    }
    let output = command
        .arg(TMUX_FORMAT)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let output = timeout(TMUX_TIME, output).await.ok()?.ok()?;
    in_tmux(&String::from_utf8_lossy(&output.stdout))
}
