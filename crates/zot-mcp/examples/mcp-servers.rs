//! Drives MCP servers through a [`Pool`], for `scripts/mcp-servers`.
//!
//! - `drive DIRECTORY`: the servers that the script has installed there, with calls whose results are checked.
//! - `starts COUNT PROGRAM [ARGS…]`: starts and ends a server again and again.
//! - `hold PROGRAM [ARGS…]`: keeps a server until this process ends.
//! - `calls COUNT PROGRAM [ARGS…]`: calls the tool `echo`, and prints what a call costs us.
#![expect(clippy::print_stdout, reason = "its output is its purpose")]

use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    Answer, BoxFuture, JsonObject, Progress, Question, QuestionKind, Questions, Tool as _,
    ToolCallId, ToolInvocation, ToolOutput,
};
use zot_extension_contract::LaunchRules;
use zot_mcp::entry::{Address, EntryOrigin, ServerEntry};
use zot_mcp::{McpTool, Pool, PoolSettings, ServerSet, ServerState};
use zot_provider::HttpClient;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// How long a server may take to be ready, on a busy machine.
const READY_TIME: Duration = Duration::from_secs(90);

/// How long one call may take.
const CALL_TIME: Duration = Duration::from_secs(60);

/// Whoever calls: reads no reports, and answers every question.
struct Caller;

impl Progress for Caller {
    fn report(&self, _text: String) -> BoxFuture<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Questions for Caller {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        let content = match question.kind {
            QuestionKind::Form { .. } => JsonObject::parse(
                r#"{"name": "Ada", "interpretation": "technical", "color": "blue"}"#,
            )
            .ok(),
            QuestionKind::Url { .. } => None,
        };
        Box::pin(std::future::ready(Answer::Accept { content }))
    }
}

/// Serves one page on loopback, for the server that fetches pages.
async fn serve_page(listener: TcpListener) {
    let page = "<html><head><title>Page</title></head><body><p>a page of our own</p></body></html>";
    while let Ok((mut socket, _)) = listener.accept().await {
        let _ = socket.read(&mut [0; 4096]).await;
        let response = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{page}",
            page.len()
        );
        let _ = socket.write_all(response.as_bytes()).await;
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments.as_slice() {
        ["drive", directory] => drive(Path::new(directory)).await,
        ["starts", count, program, rest @ ..] => starts(count, program, rest).await,
        ["hold", program, rest @ ..] => hold(program, rest).await,
        ["calls", count, program, rest @ ..] => calls(count, program, rest).await,
        _ => Err("expected drive, starts, hold or calls, see scripts/mcp-servers".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("failed: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pool(home: &Path) -> Arc<Pool> {
    Pool::new(PoolSettings {
        home: home.to_owned(),
        http: HttpClient::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        rules: LaunchRules::default(),
    })
}

fn entry(name: &str, command: &str, args: &[&str]) -> ServerEntry {
    ServerEntry {
        name: name.to_owned(),
        address: Address::Stdio {
            command: command.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            env: BTreeMap::new(),
            cwd: None,
        },
        timeout: None,
        enabled: true,
        exposure: None,
        tool_exposure: Vec::new(),
        protocol: None,
        sandbox: None,
        permissions: None,
        oauth: None,
        origin: EntryOrigin::Program,
        project: None,
    }
}

async fn ready(set: &ServerSet) -> Outcome<()> {
    timeout(READY_TIME, set.settled()).await?;
    match set.servers().first().map(|status| status.state.clone()) {
        Some(ServerState::Ready) => Ok(()),
        state => Err(format!("not ready: {state:?}").into()),
    }
}

async fn call(set: &ServerSet, name: &str, arguments: Value) -> Outcome<ToolOutput> {
    let tools = set.tools();
    let tool = tools.iter().find(|tool| tool.tool() == name);
    let tool = tool.ok_or_else(|| format!("no tool {name}"))?;
    call_tool(tool, arguments).await
}

async fn call_tool(tool: &McpTool, arguments: Value) -> Outcome<ToolOutput> {
    let arguments = RawValue::from_string(arguments.to_string())?;
    let id = ToolCallId::from("call");
    let cancel = CancellationToken::new();
    let run = tool.run(ToolInvocation {
        id: &id,
        arguments: &arguments,
        progress: &Caller,
        questions: &Caller,
        cancel: &cancel,
    });
    Ok(timeout(CALL_TIME, run).await?)
}

/// A call, and a text that its result must contain.
struct Check {
    tool: &'static str,
    arguments: Value,
    expected: &'static str,
}

fn check(tool: &'static str, arguments: Value, expected: &'static str) -> Check {
    Check {
        tool,
        arguments,
        expected,
    }
}

/// A server, and what is asked of it.
type Driven = (ServerEntry, Vec<Check>);

/// The server that has everything the protocol has.
fn everything(directory: &Path) -> Vec<Driven> {
    let node = |name: &str| directory.join("node_modules/.bin").join(name);
    vec![(
        entry(
            "everything",
            &node("mcp-server-everything").display().to_string(),
            &[],
        ),
        vec![
            check("echo", json!({"message": "hello"}), "hello"),
            check("get-sum", json!({"a": 2, "b": 40}), "42"),
            check("get-tiny-image", json!({}), "image"),
            check("get-resource-links", json!({"count": 2}), "[resource"),
            check(
                "get-structured-content",
                json!({"location": "New York"}),
                "temperature",
            ),
            check(
                "trigger-long-running-operation",
                json!({"duration": 1, "steps": 2}),
                "completed",
            ),
            check("get-roots-list", json!({}), "working directory"),
            check("trigger-elicitation-request", json!({}), "Ada"),
            check(
                "trigger-url-elicitation",
                json!({"url": "https://example.com/"}),
                "example.com",
            ),
            check(
                "simulate-research-query",
                json!({"topic": "python", "ambiguous": true}),
                "technical",
            ),
        ],
    )]
}

/// The other servers on Node.
fn node_servers(directory: &Path, work: &Path) -> Vec<Driven> {
    let node = |name: &str| directory.join("node_modules/.bin").join(name);
    let here = work.display().to_string();
    vec![
        (
            entry(
                "filesystem",
                &node("mcp-server-filesystem").display().to_string(),
                &[&here],
            ),
            vec![
                check("list_directory", json!({"path": here}), "note.txt"),
                check(
                    "read_text_file",
                    json!({"path": work.join("note.txt")}),
                    "kept in a file",
                ),
                check(
                    "write_file",
                    json!({"path": work.join("new.txt"), "content": "new"}),
                    "Successfully wrote",
                ),
                check("read_text_file", json!({"path": "/etc/passwd"}), "denied"),
            ],
        ),
        (
            memory(directory, &node("mcp-server-memory").display().to_string()),
            vec![
                check(
                    "create_entities",
                    json!({"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]}),
                    "Ada",
                ),
                check("search_nodes", json!({"query": "Ada"}), "counts"),
                check("read_graph", json!({}), "Ada"),
            ],
        ),
    ]
}

/// The servers on Python, which know both eras.
fn python_servers(directory: &Path, work: &Path, page: &str) -> Vec<Driven> {
    let python = |name: &str| directory.join("venv/bin").join(name);
    let here = work.display().to_string();
    vec![
        (
            entry("git", &python("mcp-server-git").display().to_string(), &[]),
            vec![
                check("git_status", json!({"repo_path": here}), "note.txt"),
                check(
                    "git_add",
                    json!({"repo_path": here, "files": ["note.txt"]}),
                    "staged",
                ),
                check(
                    "git_diff_staged",
                    json!({"repo_path": here}),
                    "kept in a file",
                ),
            ],
        ),
        (
            entry(
                "fetch",
                &python("mcp-server-fetch").display().to_string(),
                &["--ignore-robots-txt", "--allow-private-ips"],
            ),
            vec![check("fetch", json!({"url": page}), "a page of our own")],
        ),
        (
            entry(
                "time",
                &python("mcp-server-time").display().to_string(),
                &[],
            ),
            vec![
                check(
                    "get_current_time",
                    json!({"timezone": "Europe/Berlin"}),
                    "Europe/Berlin",
                ),
                check(
                    "convert_time",
                    json!({"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}),
                    "21:00",
                ),
            ],
        ),
    ]
}

async fn drive(directory: &Path) -> Outcome<()> {
    let work = directory.join("work");
    let _ = std::fs::remove_dir_all(&work);
    std::fs::create_dir_all(&work)?;
    std::fs::write(work.join("note.txt"), "kept in a file\n")?;
    let git = std::process::Command::new("git")
        .args(["init", "--quiet"])
        .current_dir(&work)
        .status()?;
    if !git.success() {
        return Err("git init failed".into());
    }
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let page = format!("http://{}/page.html", listener.local_addr()?);
    let mut serving = JoinSet::new();
    serving.spawn(serve_page(listener));
    let mut servers = everything(directory);
    servers.extend(node_servers(directory, &work));
    servers.extend(python_servers(directory, &work, &page));
    let mut failures = 0;
    for protocol in [None, Some("2026-07-28")] {
        for (entry, checks) in &servers {
            let mut entry = entry.clone();
            entry.protocol = protocol.map(str::to_owned);
            // The reference servers on Node know the legacy era only.
            let is_python = matches!(entry.name.as_str(), "git" | "fetch" | "time");
            if protocol.is_some() && !is_python {
                continue;
            }
            if let Err(error) = drive_one(&entry, checks, &work).await {
                failures += 1;
                println!("{:<11} FAILED: {error}", entry.name);
            }
        }
    }
    match failures {
        0 => Ok(()),
        count => Err(format!("{count} servers").into()),
    }
}

fn memory(directory: &Path, command: &str) -> ServerEntry {
    let mut entry = entry("memory", command, &[]);
    if let Address::Stdio { env, .. } = &mut entry.address {
        let file = directory.join("work/memory.json");
        env.insert("MEMORY_FILE_PATH".to_owned(), file.display().to_string());
    }
    entry
}

async fn drive_one(entry: &ServerEntry, checks: &[Check], work: &Path) -> Outcome<()> {
    let pool = pool(&work.join("home"));
    let started = Instant::now();
    let set = pool.open(vec![entry.clone()], work);
    let driven = drive_set(&set, entry, checks, started).await;
    pool.shut_down().await;
    driven
}

async fn drive_set(
    set: &ServerSet,
    entry: &ServerEntry,
    checks: &[Check],
    started: Instant,
) -> Outcome<()> {
    ready(set).await?;
    let start = started.elapsed();
    for check in checks {
        let output = call(set, check.tool, check.arguments.clone()).await?;
        let text = output.joined_text().to_lowercase();
        if !text.contains(&check.expected.to_lowercase()) {
            return Err(format!("{}: {text:?} lacks {:?}", check.tool, check.expected).into());
        }
    }
    // Whatever it lists can be asked for.
    for resource in set.resources().iter().take(2) {
        set.read(&entry.name, &resource.uri).await?;
    }
    for prompt in set.prompts() {
        let filled = prompt.arguments.iter();
        let filled = filled.map(|argument| (argument.name.clone(), "1".to_owned()));
        // Some arguments are picked from a list, which is the server's to explain.
        let _ = set
            .prompt(&entry.name, &prompt.name, &filled.collect())
            .await;
    }
    let Some(status) = set.servers().into_iter().next() else {
        return Err("the server is gone".into());
    };
    println!(
        "{:<11} MCP {}, ready after {:.1} s, {} tools, {} prompts, {} resources, {} calls as expected ({}){}",
        status.name,
        status.version.unwrap_or_default(),
        start.as_secs_f64(),
        status.tools,
        status.prompts,
        status.resources,
        checks.len(),
        status.product.unwrap_or_default(),
        status
            .notes
            .iter()
            .map(|note| format!("; {note}"))
            .collect::<String>(),
    );
    Ok(())
}

async fn starts(count: &str, program: &str, arguments: &[&str]) -> Outcome<()> {
    let home = std::env::temp_dir().join(format!("zot-mcp-starts-{}", std::process::id()));
    let count: usize = count.parse()?;
    let began = Instant::now();
    for _ in 0..count {
        let pool = pool(&home);
        let set = pool.open(vec![entry("started", program, arguments)], Path::new("/"));
        ready(&set).await?;
        pool.shut_down().await;
    }
    let _ = std::fs::remove_dir_all(&home);
    let each = began.elapsed().as_secs_f64() * 1000.0 / count as f64;
    println!("{count} starts and ends, {each:.0} ms each");
    Ok(())
}

async fn hold(program: &str, arguments: &[&str]) -> Outcome<()> {
    let home = std::env::temp_dir().join("zot-mcp-hold");
    let pool = pool(&home);
    let set = pool.open(vec![entry("held", program, arguments)], Path::new("/"));
    ready(&set).await?;
    println!("holding");
    std::future::pending::<()>().await;
    Ok(())
}

async fn calls(count: &str, program: &str, arguments: &[&str]) -> Outcome<()> {
    let home = std::env::temp_dir().join(format!("zot-mcp-calls-{}", std::process::id()));
    let count: u32 = count.parse()?;
    let pool = pool(&home);
    let set = pool.open(vec![entry("called", program, arguments)], Path::new("/"));
    ready(&set).await?;
    let tools = set.tools();
    let echo = tools.iter().find(|tool| tool.tool() == "echo");
    let echo = echo.ok_or("no tool echo")?;
    for _ in 0..100 {
        call_tool(echo, json!({"text": "warm"})).await?;
    }
    let (used, began) = (processor_time()?, Instant::now());
    for _ in 0..count {
        call_tool(echo, json!({"text": "hello"})).await?;
    }
    let used = processor_time()? - used;
    println!(
        "{count} calls: {:.3} ms of processor time each here, {:.3} ms in all",
        used.as_secs_f64() * 1000.0 / f64::from(count),
        began.elapsed().as_secs_f64() * 1000.0 / f64::from(count),
    );
    pool.shut_down().await;
    let _ = std::fs::remove_dir_all(&home);
    Ok(())
}

/// Returns how long this thread has run, which is the only one that works.
fn processor_time() -> Outcome<Duration> {
    let statistics = std::fs::read_to_string("/proc/self/schedstat")?;
    let nanoseconds = statistics.split(' ').next().unwrap_or_default().parse()?;
    Ok(Duration::from_nanos(nanoseconds))
}
