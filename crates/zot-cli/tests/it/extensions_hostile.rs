//! Extensions that flood, stall, lie, crash and refuse to exit, each beside one that works: whatever
//! they do, zot and the other extension continue, and nothing is left behind.

mod floods;
mod frames;
mod lifetimes;
mod responses;

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{Finished, ModelServer, Wire, Workdir, Zot, ZotCommand, poll_until, process};

use crate::support::{assert_no_error, binary, of_kind};

/// The most memory an extension may cost zot, whatever it does.
const MAX_GROWTH: u64 = 64 * 1024 * 1024;

/// The log and its predecessor.
const MAX_LOG_BYTES: u64 = 1024 * 1024;

/// The time for a prompt with a tool call, on a busy machine; less than the five seconds of an interceptor's
/// timeout. The first one may have to wait for an extension that does not get ready.
const PROMPTLY: Duration = Duration::from_millis(4500);
const FIRST_PROMPT: Duration = Duration::from_secs(15);

/// Returns the program that misbehaves.
fn hostile_extension() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests
        .ancestors()
        .nth(2)
        .unwrap()
        .join("examples/hostile-extension");
    assert!(
        program.exists(),
        "{} is missing: run the tests of this package without `--test`, which leaves out examples",
        program.display()
    );
    program
}

/// A `zot rpc` with a hostile extension (`bad`) and a well-behaved one (`good`).
struct Attack {
    zot: Zot,
    _server: ModelServer,
    workdir: Workdir,
    resident_at_first: u64,
    prompts: u32,
}

impl Attack {
    fn start(behaviour: &str) -> Self {
        Self::start_with(behaviour, |_| {})
    }

    /// Starts both, after changing the manifest of the hostile one.
    fn start_with(behaviour: &str, adapt: impl FnOnce(&mut Value)) -> Self {
        let (server, workdir) = (ModelServer::start(), Workdir::new("work"));
        let marker = workdir.path().display().to_string();
        let extension = |name: &str, behaviour: &str, adapt: &dyn Fn(Value) -> Value| {
            let manifest = adapt(json!({
                "name": name,
                "version": "1",
                "exec": hostile_extension(),
                // Identifies the processes of this test.
                "args": [behaviour, marker],
            }));
            workdir.write(format!("{name}/extension.json"), manifest.to_string());
            workdir.path().join(name)
        };
        let good = extension("good", "good", &|manifest| manifest);
        let adapt = std::cell::Cell::new(Some(adapt));
        let bad = extension("bad", behaviour, &|mut manifest| {
            if let Some(adapt) = adapt.take() {
                adapt(&mut manifest);
            }
            manifest
        });
        let mut zot = ZotCommand::rpc(binary(), &workdir, &server, Wire::OpenAi)
            .arguments(["--no-ext", "--ext"])
            .argument(bad)
            .argument("--ext")
            .argument(good)
            .spawn();
        let pong = zot.call(json!({"id": "first", "type": "ping"}));
        assert_eq!(pong["success"], true, "{pong}");
        Self {
            resident_at_first: zot.resident_bytes().unwrap_or(0),
            zot,
            _server: server,
            workdir,
            prompts: 0,
        }
    }

    /// Checks that zot and the tool of the other extension still work.
    fn goes_on(&mut self) {
        let limit = if self.prompts == 0 {
            FIRST_PROMPT
        } else {
            PROMPTLY
        };
        self.goes_on_within(limit);
    }

    fn goes_on_within(&mut self, limit: Duration) {
        let started = Instant::now();
        let pong = self.zot.call(json!({"id": "ping", "type": "ping"}));
        assert_eq!(pong["success"], true, "{pong}");
        let ping = started.elapsed();
        assert!(ping < PROMPTLY, "a ping took {ping:?}");
        assert_eq!(self.call("good"), "well");
        let whole = started.elapsed();
        assert!(whole < limit, "ping and prompt took {whole:?}");
    }

    /// Has the model call the hostile tool and returns the result.
    fn bad(&mut self) -> String {
        self.call("bad")
    }

    fn call(&mut self, tool: &str) -> String {
        let frames = self.turn(&format!("tool:{tool}:{{}}"));
        assert_no_error(&frames);
        let results = of_kind(&frames, "tool_result");
        assert_eq!(results.len(), 1, "{frames:?}");
        text(results[0])
    }

    fn turn(&mut self, message: &str) -> Vec<Value> {
        self.prompts += 1;
        self.zot.turn(&format!("p{}", self.prompts), message)
    }

    /// Calls the hostile tool, waits until it has the call, and aborts.
    fn abort_bad(&mut self) -> String {
        self.prompts += 1;
        self.zot.prompt("aborted", "tool:bad:{}");
        self.zot.event("tool_call");
        let started = Instant::now();
        self.zot.send(json!({"id": "abort", "type": "abort"}));
        let result = self.zot.event("tool_result");
        self.zot.event("done");
        let took = started.elapsed();
        assert!(took < PROMPTLY, "an abort took {took:?}");
        text(&result)
    }

    fn log(&self) -> String {
        let path = self.workdir.zot_home().join("logs/ext-bad.log");
        let older = fs::read(path.with_extension("log.1")).unwrap_or_default();
        let newer = fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&[older, newer].concat()).into_owned()
    }

    /// Waits until the log contains `remark`.
    fn logs(&self, remark: &str) {
        poll_until(remark, || self.log().contains(remark));
    }

    /// Ends zot by closing its input, and checks its processes and its memory.
    fn end(self) -> Finished {
        self.assert_bounded();
        let (finished, workdir) = self.finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert_nothing_left(&workdir);
        finished
    }

    fn finish(mut self) -> (Finished, Workdir) {
        self.zot.close_stdin();
        (self.zot.wait(Duration::from_secs(12)), self.workdir)
    }

    fn assert_bounded(&self) {
        if let Some(peak) = process::peak_resident_bytes(self.zot.pid()) {
            let growth = peak.saturating_sub(self.resident_at_first);
            assert!(growth <= MAX_GROWTH, "zot grew by {growth} bytes");
        }
        let logs = fs::read_dir(self.workdir.zot_home().join("logs")).unwrap();
        for log in logs {
            let log = log.unwrap();
            let size = log.metadata().unwrap().len();
            assert!(size <= MAX_LOG_BYTES, "{:?} has {size} bytes", log.path());
        }
    }
}

/// Returns the processes of this test that are still running.
fn left(workdir: &Workdir) -> Vec<u32> {
    process::with_command_line(&format!(" {}", workdir.path().display()))
}

fn assert_nothing_left(workdir: &Workdir) {
    assert_eq!(left(workdir), Vec::<u32>::new());
}

fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.collect()
}
