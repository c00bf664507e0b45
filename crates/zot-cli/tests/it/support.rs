//! Helpers for all tests.

pub(crate) mod website;

use std::path::PathBuf;

use serde_json::Value;
use testkit::{ModelServer, Wire, Workdir, Zot, ZotCommand};

/// Returns the program under test; `ZOT_UNDER_TEST` names another one, such as a release build.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("ZOT_UNDER_TEST")
        .map_or_else(|| PathBuf::from(env!("CARGO_BIN_EXE_zot")), PathBuf::from)
}

/// A `zot rpc` with a model server and a working directory. Dropped in this order.
pub(crate) struct Session {
    pub(crate) zot: Zot,
    pub(crate) server: ModelServer,
    pub(crate) workdir: Workdir,
}

impl Session {
    pub(crate) fn start(wire: Wire) -> Self {
        Self::start_with(wire, |command| command)
    }

    pub(crate) fn start_with(wire: Wire, adapt: impl FnOnce(ZotCommand) -> ZotCommand) -> Self {
        Self::on(ModelServer::start(), wire, adapt)
    }

    pub(crate) fn on(
        server: ModelServer,
        wire: Wire,
        adapt: impl FnOnce(ZotCommand) -> ZotCommand,
    ) -> Self {
        let workdir = Workdir::with_files("work");
        let command = ZotCommand::rpc(binary(), &workdir, &server, wire);
        Self {
            zot: adapt(command).spawn(),
            server,
            workdir,
        }
    }
}

/// Returns whether children cannot have namespaces here, and notes that the test is skipped.
pub(crate) fn lacks_namespaces() -> bool {
    let lacks = !zot_process::sandbox::has_views();
    if lacks {
        testkit::skip_without(testkit::KernelFeature::Namespaces, "no namespaces");
    }
    lacks
}

/// Returns the `type` of each frame; consecutive deltas of one kind count once.
pub(crate) fn kinds(frames: &[Value]) -> Vec<&str> {
    let mut kinds: Vec<&str> = frames.iter().filter_map(|f| f["type"].as_str()).collect();
    kinds.dedup_by(|next, last| next == last && matches!(*next, "text_delta" | "tool_use_args"));
    kinds
}

/// Returns the frames of one type.
pub(crate) fn of_kind<'a>(frames: &'a [Value], kind: &str) -> Vec<&'a Value> {
    frames.iter().filter(|f| f["type"] == kind).collect()
}

/// Returns the joined text deltas.
pub(crate) fn streamed_text(frames: &[Value]) -> String {
    let deltas = of_kind(frames, "text_delta").into_iter();
    deltas.filter_map(|frame| frame["delta"].as_str()).collect()
}

/// Returns the frames without their times, for comparing runs.
pub(crate) fn timeless(mut frames: Vec<Value>) -> Vec<Value> {
    for frame in &mut frames {
        if let Some(fields) = frame.as_object_mut() {
            fields.remove("time");
        }
    }
    frames
}

/// Asserts that no frame reports a failure.
pub(crate) fn assert_no_error(frames: &[Value]) {
    assert_eq!(of_kind(frames, "error"), Vec::<&Value>::new());
}
