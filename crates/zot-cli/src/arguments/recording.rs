//! The flags that record model calls, or replay them.

use std::path::PathBuf;

use clap::Args;
use clap::builder::PossibleValuesParser;
use zot_sdk::recordings::{ReplayMode, ReplayPace};
use zot_sdk::{Recording, Replay};

use super::heading;

#[derive(Args)]
#[command(next_help_heading = heading::RECORDINGS)]
pub(super) struct RecordingArguments {
    /// Record all model exchanges in a cassette, a new or empty file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Replay a cassette instead of calling a model (implies --provider replay)
    #[arg(long, value_name = "FILE")]
    cassette: Option<PathBuf>,
    /// strict: fail if a request differs from the recorded one; by-order: ignore differences
    #[arg(long, value_name = "MODE", requires = "cassette", value_parser = PossibleValuesParser::new(["strict", "by-order"]))]
    replay_mode: Option<String>,
    /// Replay at the recorded speed
    #[arg(long, requires = "cassette")]
    realtime: bool,
}

impl From<RecordingArguments> for Recording {
    fn from(arguments: RecordingArguments) -> Self {
        Self {
            record: arguments.record,
            secrets: Vec::new(),
            replay: arguments.cassette.map(|cassette| Replay {
                cassette,
                mode: match arguments.replay_mode.as_deref() {
                    Some("by-order") => ReplayMode::ByOrder,
                    _ => ReplayMode::Strict,
                },
                pace: match arguments.realtime {
                    true => ReplayPace::RealTime,
                    false => ReplayPace::FullSpeed,
                },
            }),
        }
    }
}
