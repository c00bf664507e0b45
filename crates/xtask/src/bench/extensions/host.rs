//! An extension host in this process, on a single-threaded runtime like zot's.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::time::{ClockId, clock_gettime};
use serde_json::value::RawValue;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use zot_conversation::{BoxFuture, Progress, Tool, ToolCallId, ToolInvocation};
use zot_extension_contract::{LaunchRules, SearchPaths, discover};
use zot_extension_host::{ExtensionHost, HostConfig, Phase};

/// A host of all extensions in one directory, all ready.
pub(super) struct Host {
    pub(super) runtime: Runtime,
    pub(super) extensions: ExtensionHost,
}

impl Host {
    pub(super) fn start(directory: &Path, home: PathBuf, count: usize) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let search = SearchPaths {
            global: Some(directory.to_owned()),
            ..SearchPaths::default()
        };
        let discovery = discover(&search);
        let config = HostConfig {
            search,
            home,
            cwd: directory.to_owned(),
            zot_version: "bench".to_owned(),
            provider: "none".to_owned(),
            model: "none".to_owned(),
            taken_tools: Vec::new(),
            taken_commands: Vec::new(),
            rules: LaunchRules::default(),
        };
        let extensions = runtime.block_on(async {
            let extensions = ExtensionHost::start(config, &discovery);
            extensions.settled().await;
            extensions
        });
        let running = extensions.extensions();
        let ready = running.iter().filter(|one| one.phase() == Phase::Ready);
        let ready = ready.count();
        ensure!(ready == count, "{ready} of {count} extensions are ready");
        Ok(Self {
            runtime,
            extensions,
        })
    }

    /// Calls the tool `name` repeatedly and returns how long each call took.
    pub(super) fn call(&self, name: &str, times: usize) -> anyhow::Result<Vec<Duration>> {
        let tools = self.extensions.tools();
        let tool = tools.iter().find(|tool| tool.definition().name == name);
        let tool = tool.with_context(|| format!("no tool {name}"))?;
        let tool = Arc::clone(tool);
        // In a task, like agents: waking the future of `block_on` costs a system call.
        self.runtime.block_on(async {
            let mut task = JoinSet::new();
            task.spawn(call(tool, times));
            let end = task.join_next().await;
            end.context("the calls are a task")??
        })
    }

    pub(super) fn shut_down(self) {
        self.runtime.block_on(self.extensions.shut_down());
    }
}

async fn call(tool: Arc<dyn Tool>, times: usize) -> anyhow::Result<Vec<Duration>> {
    let id = ToolCallId::from("call_1");
    let arguments: &RawValue = serde_json::from_str(super::round_trip::ARGUMENTS)?;
    let cancel = CancellationToken::new();
    let mut samples = Vec::with_capacity(times);
    for _ in 0..times {
        let start = Instant::now();
        let output = tool
            .run(ToolInvocation {
                id: &id,
                arguments,
                progress: &IgnoredProgress,
                questions: &zot_conversation::NobodyAnswers,
                cancel: &cancel,
            })
            .await;
        samples.push(start.elapsed());
        ensure!(!output.is_error, "the tool failed: {output:?}");
    }
    Ok(samples)
}

/// Ignores progress.
struct IgnoredProgress;

impl Progress for IgnoredProgress {
    fn report(&self, _: String) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}

/// Returns the CPU time of this process.
pub(super) fn own_cpu() -> Duration {
    read_clock(ClockId::ProcessCPUTime)
}

/// Returns the time of the clock that all processes share.
pub(super) fn monotonic() -> Duration {
    read_clock(ClockId::Monotonic)
}

fn read_clock(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(
        u64::try_from(time.tv_sec).unwrap_or_default(),
        u32::try_from(time.tv_nsec).unwrap_or_default(),
    )
}
