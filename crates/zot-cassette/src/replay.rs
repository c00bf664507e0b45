//! A model that answers from a cassette.

mod check;
mod playback;

use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use zot_conversation::{
    Model, ModelError, ModelErrorKind, ModelEvent, ModelRequest, ModelStream, ToolImages,
};

use super::error::CassetteError;
use super::exchange::Outcome;
use super::header::{Header, RecordedModel};
use super::reader::{CassetteReader, Resolver};
use check::{Expected, Verified};
use playback::Playback;

/// What a request must have in common with the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplayMode {
    /// Everything except what naturally differs from run to run.
    #[default]
    Strict,
    /// Nothing: responses are replayed in the order in which they were recorded.
    ByOrder,
}

/// How fast events are replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ReplayPace {
    #[default]
    FullSpeed,
    /// As they were recorded.
    RealTime,
}

/// Answers from a cassette, exchange by exchange.
pub struct ReplayModel {
    header: Header,
    mode: ReplayMode,
    pace: ReplayPace,
    state: Mutex<State>,
}

struct State {
    reader: CassetteReader,
    resolver: Resolver,
    verified: Verified,
    /// Read but not used yet: a request that differed leaves it here.
    next: Option<Prepared>,
    /// What is wrong with the cassette. Nothing after a bad line can be trusted.
    broken: Option<ModelError>,
}

struct Prepared {
    playback: Playback,
    /// In strict mode only.
    expected: Option<Expected>,
}

impl ReplayModel {
    /// Opens a cassette and reads its header. Exchanges are read on demand.
    pub fn open(path: &Path, mode: ReplayMode, pace: ReplayPace) -> Result<Self, CassetteError> {
        let reader = CassetteReader::open(path)?;
        Ok(Self {
            header: reader.header().clone(),
            mode,
            pace,
            state: Mutex::new(State {
                reader,
                resolver: Resolver::default(),
                verified: Verified::default(),
                next: None,
                broken: None,
            }),
        })
    }

    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the backup models of the recording, which answer from the same cassette.
    pub fn fallbacks(self: &Arc<Self>) -> Vec<(RecordedModel, Arc<dyn Model>)> {
        let fallbacks = self.header.fallbacks.iter();
        fallbacks
            .map(|record| {
                let recorded = record.recorded_model();
                let model = ReplayFallback {
                    replay: Arc::clone(self),
                    provider: record.provider.clone(),
                    tool_images: recorded.tool_images,
                };
                (recorded, Arc::new(model) as Arc<dyn Model>)
            })
            .collect()
    }

    /// Begins the next exchange if `request` matches the recorded one.
    fn begin(
        &self,
        fallback: Option<&str>,
        request: &ModelRequest<'_>,
    ) -> Result<Playback, ModelError> {
        let mut state = self.lock();
        let state = &mut *state;
        let prepared = match state.next.take() {
            Some(prepared) => prepared,
            None => state.prepare_next(self.mode)?,
        };
        if let Some(expected) = &prepared.expected
            && let Some(difference) = expected
                .compare_provider(fallback)
                .or_else(|| state.verified.compare(expected, request))
        {
            let exchange = prepared.playback.exchange();
            state.next = Some(prepared);
            return Err(invalid(format!(
                "exchange {exchange} differs from the recording at {difference}"
            )));
        }
        if let Some(expected) = prepared.expected {
            state.verified.accept(&expected, request);
            state.resolver.keep(expected.into_conversation());
        }
        Ok(prepared.playback)
    }

    /// A poisoned lock still holds a reader that is between two lines.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn prepare_next(&mut self, mode: ReplayMode) -> Result<Prepared, ModelError> {
        if let Some(broken) = &self.broken {
            return Err(broken.clone());
        }
        match self.read_next(mode) {
            Ok(Some(prepared)) => Ok(prepared),
            Ok(None) => Err(exhausted(&self.reader)),
            Err(error) => {
                let broken = invalid(error);
                self.broken = Some(broken.clone());
                Err(broken)
            }
        }
    }

    fn read_next(&mut self, mode: ReplayMode) -> Result<Option<Prepared>, CassetteError> {
        let Some(line) = self.reader.next()? else {
            return Ok(None);
        };
        let prepared = (|| {
            let expected = match mode {
                ReplayMode::ByOrder => None,
                ReplayMode::Strict => {
                    let whole = self.resolver.resolve(line.exchange, &line.request)?;
                    Some(Expected::new(&line.request, whole))
                }
            };
            let failure = line.failure()?;
            let aborted = line.outcome == Outcome::Aborted;
            let playback = Playback::new(line, failure, aborted);
            Ok(Prepared { playback, expected })
        })();
        prepared
            .map(Some)
            .map_err(|problem| self.reader.line_error(problem))
    }
}

fn invalid(message: impl ToString) -> ModelError {
    ModelError::new(ModelErrorKind::Invalid, message.to_string())
}

fn exhausted(reader: &CassetteReader) -> ModelError {
    let exchanges = reader.exchanges();
    invalid(format!(
        "{} holds {exchanges} exchanges and all have been played: request {} was not recorded",
        reader.path().display(),
        exchanges + 1
    ))
}

impl Model for ReplayModel {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        Box::pin(ReplayStream {
            model: self,
            fallback: None,
            state: StreamState::Asked(request),
        })
    }

    fn tool_images(&self) -> ToolImages {
        self.header.tool_images()
    }
}

/// One of the backup models.
struct ReplayFallback {
    replay: Arc<ReplayModel>,
    provider: String,
    tool_images: ToolImages,
}

impl Model for ReplayFallback {
    fn stream<'a>(&'a self, request: ModelRequest<'a>) -> ModelStream<'a> {
        Box::pin(ReplayStream {
            model: &self.replay,
            fallback: Some(&self.provider),
            state: StreamState::Asked(request),
        })
    }

    fn tool_images(&self) -> ToolImages {
        self.tool_images
    }
}

struct ReplayStream<'a> {
    model: &'a ReplayModel,
    /// The provider of a backup model; `None` for the first model.
    fallback: Option<&'a str>,
    state: StreamState<'a>,
}

enum StreamState<'a> {
    /// Nothing happens before the first poll.
    Asked(ModelRequest<'a>),
    Playing(Box<Playback>),
    Ended,
}

impl Stream for ReplayStream<'_> {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if let StreamState::Asked(request) = &this.state {
            match this.model.begin(this.fallback, request) {
                Ok(playback) => this.state = StreamState::Playing(Box::new(playback)),
                Err(error) => {
                    this.state = StreamState::Ended;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
        let StreamState::Playing(playback) = &mut this.state else {
            return Poll::Ready(None);
        };
        let polled = playback.poll(this.model.pace, context);
        if matches!(polled, Poll::Ready(None | Some(Err(_)))) {
            this.state = StreamState::Ended;
        }
        polled
    }
}
