//! Draws images in the background, while the loop handles keys.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::process::Command;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use zot_sdk::Image;

use crate::image::{
    Drawing, ImageEncoder, ImageEnvironment, Protocol, TMUX_FORMAT, number, protocol_in_tmux,
};
use crate::terminal::{Capabilities, Terminal};

/// How long the terminal may take to report its capabilities, counted from an image.
const IMAGE_QUERY_TIME: Duration = Duration::from_secs(1);

/// How long tmux may take to report how images pass through it.
const TMUX_TIME: Duration = Duration::from_secs(1);

/// How long drawing may take before the conversation continues without the image.
///
/// Limit: the image is only described.
const DRAWING_TIME: Duration = Duration::from_secs(3);

/// Draws the images of one event at a time.
pub(super) struct ImageRenderer {
    environment: ImageEnvironment,
    capabilities: watch::Receiver<Capabilities>,
    jobs: JoinSet<Vec<Drawing>>,
    /// How many images there were.
    count: u32,
    /// The size of a cell when the last image was drawn.
    cell: Option<(usize, usize)>,
    /// The working directory of the chat.
    cwd: PathBuf,
}

impl ImageRenderer {
    pub(super) fn new(
        environment: ImageEnvironment,
        capabilities: watch::Receiver<Capabilities>,
        cwd: PathBuf,
    ) -> Self {
        Self {
            environment,
            capabilities,
            jobs: JoinSet::new(),
            count: 0,
            cell: None,
            cwd,
        }
    }

    /// Starts to draw; [`next`](Self::next) returns the drawings.
    pub(super) fn draw(&mut self, images: Vec<Image>, columns: usize, rows: usize) {
        if images.is_empty() || self.environment == ImageEnvironment::Blocked {
            return;
        }
        self.cell = Terminal::cell();
        let first = self.count;
        self.count = first.wrapping_add(u32::try_from(images.len()).unwrap_or(0));
        let encoder = encoder(
            self.environment,
            self.capabilities.clone(),
            self.cwd.clone(),
        );
        let draw = async move {
            let Some(encoder) = encoder.await else {
                return Vec::new();
            };
            let drawn = tokio::task::spawn_blocking(move || {
                let numbers = (0..).map(|index| number(std::process::id(), first + index));
                let numbered = images.iter().zip(numbers);
                numbered
                    .filter_map(|(image, number)| encoder.draw(&image.data, columns, rows, number))
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

    /// Waits for drawings; `None` if nothing is being drawn.
    pub(super) async fn next(&mut self) -> Option<Vec<Drawing>> {
        let done = self.jobs.join_next().await?;
        Some(done.unwrap_or_default())
    }

    /// Returns the sequence that removes images from the screen, if they do not scroll with the text.
    pub(super) fn wipe(&self) -> &'static str {
        match self.count {
            0 => "",
            _ => self.environment.wipe(),
        }
    }

    /// Returns whether drawings in pixels no longer fill their cells.
    pub(super) fn is_outdated(&self) -> bool {
        let is_sized_in_cells = matches!(self.environment, ImageEnvironment::Known(_));
        self.count > 0 && !is_sized_in_cells && self.cell != Terminal::cell()
    }

    pub(super) async fn shutdown(&mut self) {
        self.jobs.shutdown().await;
    }
}

/// Finds out how images are shown, which may take a query to the terminal.
async fn encoder(
    environment: ImageEnvironment,
    capabilities: watch::Receiver<Capabilities>,
    cwd: PathBuf,
) -> Option<ImageEncoder> {
    let protocol = match environment {
        ImageEnvironment::Known(protocol) => protocol,
        ImageEnvironment::Blocked => return None,
        ImageEnvironment::Terminal | ImageEnvironment::Tmux => {
            let mut capabilities = capabilities.clone();
            let reported = capabilities.wait_for(|capabilities| capabilities.sixel.is_some());
            let has_sixel = match timeout(IMAGE_QUERY_TIME, reported).await {
                Ok(Ok(capabilities)) => capabilities.sixel == Some(true),
                _ => false,
            };
            match (has_sixel, environment) {
                (true, _) => Protocol::Sixel,
                (false, ImageEnvironment::Tmux) => ask_tmux(&cwd).await?,
                (false, _) => return None,
            }
        }
    };
    let cell = Terminal::cell().or(capabilities.borrow().cell);
    Some(ImageEncoder { protocol, cell })
}

/// Asks tmux, for every image again: another terminal may have been attached since.
async fn ask_tmux(cwd: &Path) -> Option<Protocol> {
    let mut command = Command::from(zot_process::helper("tmux", cwd).ok()?);
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
    protocol_in_tmux(&String::from_utf8_lossy(&output.stdout))
}
