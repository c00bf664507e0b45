use std::fs;
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::postgres::{Database as TestDatabase, Postgres};
use tokio::task::JoinSet;
use zot_conversation::BoxFuture;

use super::*;
use crate::config::{Config, StoreUrl};
use crate::exchange::exchange;
use crate::executor::ExecutorService;
use crate::kind::ServiceKind;
use crate::logging::Level;
use crate::memory::{ClaimsService, Database, MemoryService};
use crate::service::{Responses, Service};

/// A database, and a directory where programs leave their traces.
struct Setup {
    postgres: Postgres,
    database: TestDatabase,
    directory: TempDir,
}

impl Setup {
    async fn new() -> Self {
        let postgres = Postgres::start();
        let database = postgres.database();
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("tools")).unwrap();
        fs::write(
            directory.path().join("tools/bash.json"),
            r#"{"command": "bash", "file_extension": ".sh"}"#,
        )
        .unwrap();
        let setup = Self {
            postgres,
            database,
            directory,
        };
        let database = Database::configured(&setup.config()).unwrap().unwrap();
        database.migrate().await.unwrap();
        setup
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.store.url = Some(StoreUrl::new(&self.database.url));
        config.tools.dir = Some(self.directory.path().join("tools"));
        config.exc.sandbox = crate::config::ExecutorSandbox::Off;
        config
    }

    fn sql(&self, statements: &str) -> String {
        self.postgres.sql(&self.database.name, statements)
    }

    /// Starts an executor with a `mem` of its own.
    fn executor(&self) -> Peer<zot_wire::zino::executor::Request> {
        let memory = Arc::new(MemoryService::new(&self.config()).unwrap());
        let claims = Peer::local(Arc::new(ClaimsService::new(memory)), log());
        executor(self.config(), Some(claims))
    }

    /// Code that leaves a line in a file.
    fn code(&self, more: &str) -> String {
        format!(
            "echo ran >> {0}/traces; echo out; {more}",
            self.directory.path().display()
        )
    }

    fn traces(&self) -> usize {
        let traces = fs::read_to_string(self.directory.path().join("traces"));
        traces.map_or(0, |traces| traces.lines().count())
    }
}

fn log() -> Log {
    Log::new("exc", Level::Error)
}

fn executor(
    config: Config,
    claims: Option<Peer<Request>>,
) -> Peer<zot_wire::zino::executor::Request> {
    Peer::local(
        Arc::new(ExecutorService::new(config, log(), claims).unwrap()),
        log(),
    )
}

async fn ask(
    peer: &Peer<zot_wire::zino::executor::Request>,
    kind: &str,
    call: &str,
    code: &str,
) -> Value {
    let request = json!({ "type": kind, "call": call, "code": code, "executor": "bash" });
    let mut frames = exchange(peer, &request).await;
    assert_eq!(frames.len(), 1, "{frames:?}");
    frames.remove(0)
}

fn is_interrupted(response: &Value) -> bool {
    *response
        == json!({
            "exit_code": -1, "stderr": "interrupted, outcome unknown", "stdout": "", "type": "result",
        })
}

#[tokio::test]
async fn racing_executors_run_the_code_once_and_all_get_the_result() {
    let setup = Setup::new().await;
    let executors = [setup.executor(), setup.executor()];
    let code = setup.code("exit 3");
    for round in 0..10 {
        let mut asked = JoinSet::new();
        for number in 0..6 {
            let (executor, code) = (executors[number % 2].clone(), code.clone());
            let kind = if number < 2 { "execute" } else { "outcome" };
            asked.spawn(async move { ask(&executor, kind, &round.to_string(), &code).await });
        }
        for response in asked.join_all().await {
            let expected =
                json!({ "exit_code": 3, "stderr": "", "stdout": "out\n", "type": "result" });
            assert_eq!(response, expected);
        }
        assert_eq!(setup.traces(), round + 1);
    }
    let states = "select count(*) || state from zino_claim group by state";
    assert_eq!(setup.sql(states), "10finished");
}

#[tokio::test]
async fn an_expired_claim_answers_that_the_outcome_is_unknown() {
    let setup = Setup::new().await;
    setup
        .sql("insert into zino_claim (call, owner, lease_until) values ('1', 'gone', '-infinity')");
    let executor = setup.executor();
    for kind in ["outcome", "execute"] {
        let response = ask(&executor, kind, "1", &setup.code("")).await;
        assert!(is_interrupted(&response), "{response}");
    }
    assert_eq!(setup.traces(), 0);
}

#[tokio::test]
async fn a_caller_that_hangs_up_interrupts_its_code_and_others_learn_it() {
    let setup = Setup::new().await;
    let executor = setup.executor();
    let code = setup.code("sleep 60");
    {
        let running = ask(&executor, "execute", "1", &code);
        let started = async {
            while setup.traces() == 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::select! {
            response = running => panic!("{response}"),
            () = started => {}
        }
    }
    // Long before the claim expires: the executor has said so.
    setup.sql("update zino_claim set lease_until = 'infinity'");
    let response = ask(&setup.executor(), "outcome", "1", &code).await;
    assert!(is_interrupted(&response), "{response}");
    assert_eq!(setup.traces(), 1);
}

#[tokio::test]
async fn without_the_store_no_code_runs() {
    let mut setup = Setup::new().await;
    let executor = setup.executor();
    setup.postgres.stop(testkit::postgres::Shutdown::Immediate);
    let response = ask(&executor, "execute", "1", &setup.code("")).await;
    assert_eq!(response["code"], "store_unavailable", "{response}");
    let response = ask(&executor, "outcome", "1", &setup.code("")).await;
    assert!(is_interrupted(&response), "{response}");
    assert_eq!(setup.traces(), 0);
}

/// A `mem` of an earlier version.
struct OldMemory;

impl Service for OldMemory {
    type Request = Request;

    fn kind(&self) -> ServiceKind {
        ServiceKind::Memory
    }

    fn handle(&self, _: Request, responses: Responses<Response>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let failure = Failure {
                code: None,
                message: Some("Unknown message type: claim".to_owned()),
            };
            responses.finish(Response::Error(failure)).await;
        })
    }
}

#[tokio::test]
async fn no_code_runs_for_a_mem_without_claims() {
    let setup = Setup::new().await;
    let old = Peer::local(Arc::new(OldMemory), log());
    let old = executor(setup.config(), Some(old));
    let code = setup.code("");
    let response = ask(&old, "execute", "1", &code).await;
    assert_eq!(response["code"], "store_unavailable", "{response}");
    let message = response["message"].as_str().unwrap();
    assert!(message.contains("too old for claims"), "{message}");
    assert_eq!(setup.traces(), 0);
    // Nobody has run it, so another executor may.
    ask(&setup.executor(), "outcome", "1", &code).await;
    assert_eq!(setup.traces(), 1);
}

#[tokio::test]
async fn without_a_shared_store_code_runs_at_the_first_request_only() {
    let setup = Setup::new().await;
    let mut files = setup.config();
    files.store.url = None;
    files.mem.data_dir = setup.directory.path().join("data");
    let memory = Arc::new(MemoryService::new(&files).unwrap());
    let claims = Peer::local(Arc::new(ClaimsService::new(memory)), log());
    for (number, claims) in [None, Some(claims)].into_iter().enumerate() {
        let executor = executor(files.clone(), claims);
        let response = ask(&executor, "execute", "1", &setup.code("")).await;
        assert_eq!(response["stdout"], "out\n", "{response}");
        let response = ask(&executor, "outcome", "1", &setup.code("")).await;
        assert!(is_interrupted(&response), "{response}");
        assert_eq!(setup.traces(), number + 1);
    }
}
