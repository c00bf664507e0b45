//! What happens after the user was asked, with real commands.

use std::error::Error;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use testkit::skip;
use tokio_util::sync::CancellationToken;
use zot_conversation::{
    Answer, BoxFuture, JsonObject, Question, QuestionKind, Questions, ToolOutput,
};
use zot_process::sandbox::{Level, Policy};

use super::commands::confined;
use crate::sandbox::{AllowError, Allowance, Allowances, AllowedFor, ToolSandbox};
use crate::test_support::{Recorder, Workspace, directory_outside};

/// Answers every question with the same choice.
pub(super) struct Chooses {
    choice: &'static str,
    asked: Mutex<Vec<Question>>,
}

impl Chooses {
    pub(super) fn new(choice: &'static str) -> Self {
        Self {
            choice,
            asked: Mutex::default(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.asked.lock().unwrap().len()
    }

    /// Returns the message of every question.
    pub(super) fn messages(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .map(|question| question.message.clone())
            .collect()
    }

    /// Returns the titles of the options of the last question, by their values.
    fn options(&self) -> Vec<(String, String)> {
        let asked = self.asked.lock().unwrap();
        let QuestionKind::Form { schema } = &asked.last().unwrap().kind else {
            panic!("not a form");
        };
        let schema: Value = serde_json::from_str(schema.as_str()).unwrap();
        let options = schema["properties"]["choice"]["oneOf"].as_array().unwrap();
        let text = |option: &Value, key: &str| option[key].as_str().unwrap().to_owned();
        let options = options
            .iter()
            .map(|option| (text(option, "const"), text(option, "title")));
        options.collect()
    }
}

impl Questions for Chooses {
    fn ask(&self, question: Question) -> BoxFuture<'_, Answer> {
        self.asked.lock().unwrap().push(question);
        let content = json!({"choice": self.choice}).to_string();
        let content = JsonObject::parse(&content).ok();
        Box::pin(async { Answer::Accept { content } })
    }
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<Allowance>>);

impl Allowances for Kept {
    fn keep(&self, allowed: &[Allowance]) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.lock().unwrap().extend_from_slice(allowed);
        Ok(())
    }
}

/// Keeps nothing.
#[derive(Debug)]
struct Full;

impl Allowances for Full {
    fn keep(&self, _: &[Allowance]) -> Result<(), Box<dyn Error + Send + Sync>> {
        Err("the disk is full".into())
    }
}

pub(super) async fn bash(
    workspace: &Workspace,
    command: &str,
    questions: &dyn Questions,
) -> ToolOutput {
    workspace
        .call_asking(
            "bash",
            json!({"command": command}),
            &Recorder::default(),
            questions,
            &CancellationToken::new(),
        )
        .await
}

fn outside() -> (tempfile::TempDir, PathBuf) {
    let directory = directory_outside();
    let path = directory.path().canonicalize().unwrap();
    (directory, path)
}

#[tokio::test]
async fn once_runs_the_command_outside_and_changes_nothing_else() {
    for workspace in confined(Policy::at(Level::Workspace)).await {
        let (_directory, outside) = outside();
        let command = format!("echo x >> {0}/made; cat {0}/made", outside.display());
        let answer = Chooses::new("once");
        let output = bash(&workspace, &command, &answer).await;
        let text = output.joined_text();
        assert!(!output.is_error, "{text}");
        assert!(
            text.ends_with("the user allowed it for this call only)"),
            "{text}"
        );
        assert_eq!(fs::read(outside.join("made")).unwrap(), b"x\n");
        assert_eq!(answer.count(), 1);
        assert_eq!(workspace.sandbox.policy(), Policy::at(Level::Workspace));
        let output = bash(&workspace, &command, &Chooses::new("no")).await;
        assert!(output.is_error, "{}", output.joined_text());
    }
}

#[tokio::test]
async fn a_path_is_allowed_for_the_session() {
    for workspace in confined(Policy::at(Level::Workspace)).await {
        let (_directory, outside) = outside();
        let (_other, elsewhere) = self::outside();
        let command = format!("echo x > {}/made", outside.display());
        let answer = Chooses::new("session");
        let output = bash(&workspace, &command, &answer).await;
        let text = output.joined_text();
        assert!(!output.is_error, "{text}");
        let note = format!(
            "(run once more: the user allowed changing {} for this session)",
            outside.display()
        );
        assert!(text.ends_with(&note), "{text}");
        let options = answer.options();
        let names: Vec<&str> = options.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            ["once", "session", "no"],
            "nothing is kept for projects"
        );
        let title = format!("allow changing {}", outside.display());
        assert!(options[1].1.ends_with(&title), "{options:?}");
        assert!(outside.join("made").exists());

        // Now it is allowed, for the file tools as well, also after the level was changed.
        workspace.apply(Policy::default());
        workspace.apply(Policy::at(Level::Workspace));
        let answer = Chooses::new("session");
        let output = bash(
            &workspace,
            &format!("rm {}/made", outside.display()),
            &answer,
        )
        .await;
        assert!(!output.is_error, "{}", output.joined_text());
        let arguments = json!({"path": outside.join("by-write"), "content": "x"});
        assert!(!workspace.call("write", arguments).await.is_error);
        assert_eq!(answer.count(), 0);
        let arguments = json!({"path": elsewhere.join("by-write"), "content": "x"});
        assert!(
            workspace.call("write", arguments).await.is_error,
            "nothing else is"
        );
    }
}

/// The exit code of a pipe is that of its last program.
#[tokio::test]
async fn a_refusal_is_explained_although_the_exit_code_is_zero() {
    for workspace in confined(Policy::at(Level::Workspace)).await {
        let (_directory, outside) = outside();
        fs::write(outside.join("there"), "").unwrap();
        let outside = outside.display();
        for (command, refused) in [
            (
                format!("(echo x > {outside}/made) 2>&1 | tail -3"),
                format!("changing {outside}"),
            ),
            (
                format!("cat {outside}/there; true"),
                format!("reading {outside}/there"),
            ),
        ] {
            let answer = Chooses::new("once");
            let output = bash(&workspace, &command, &answer).await;
            let text = output.joined_text();
            assert!(!output.is_error && text.contains("[exit 0]"), "{text}");
            assert!(
                text.contains(&format!("[sandbox workspace] {refused} is refused")),
                "{text}"
            );
            assert_eq!(answer.count(), 0);
        }
        let output = bash(
            &workspace,
            &format!("cat {outside}/none; true"),
            &Chooses::new("no"),
        )
        .await;
        assert!(
            !output.joined_text().contains("[sandbox"),
            "{}",
            output.joined_text()
        );
    }
}

#[tokio::test]
async fn a_path_is_allowed_for_the_project() {
    let kept = Arc::new(Kept::default());
    let workspace = Workspace::recorded_with(|sandbox| sandbox.allowances(kept.clone()));
    workspace.apply(Policy::at(Level::Workspace));
    if confined(Policy::at(Level::Workspace)).await.is_empty() {
        return;
    }
    let (_directory, outside) = outside();
    fs::write(outside.join("file"), "to be read").unwrap();
    let file = outside.join("file");
    let answer = Chooses::new("project");
    let output = bash(&workspace, &format!("cat {}", file.display()), &answer).await;
    let text = output.joined_text();
    assert!(!output.is_error && text.contains("to be read"), "{text}");
    assert_eq!(*kept.0.lock().unwrap(), [Allowance::Read(file.clone())]);
    // Reading was allowed, not changing.
    let output = bash(
        &workspace,
        &format!("echo x > {}", file.display()),
        &Chooses::new("no"),
    )
    .await;
    assert!(output.is_error, "{}", output.joined_text());

    let workspace = Workspace::recorded_with(|sandbox| sandbox.allowances(Arc::new(Full)));
    workspace.apply(Policy::at(Level::Workspace));
    let output = bash(&workspace, &format!("cat {}", file.display()), &answer).await;
    let text = output.joined_text();
    assert!(
        output.is_error && text.contains("cannot be kept for the project: the disk is full"),
        "{text}"
    );
    assert_eq!(workspace.sandbox.policy(), Policy::at(Level::Workspace));
}

#[tokio::test]
async fn nobody_is_asked_without_need() {
    let (_directory, outside) = outside();
    fs::write(outside.join("secret"), "secret").unwrap();
    let cat = format!("cat {}/secret", outside.display());
    let answer = Chooses::new("once");
    for workspace in confined(Policy::at(Level::Workspace)).await {
        for command in [
            "true",
            "echo Permission denied",
            "exit 3",
            "cat missing",
            // Only the user decides what happens with failures that a command ignores.
            &format!("{cat}; true"),
        ] {
            bash(&workspace, command, &answer).await;
        }
    }
    for workspace in confined(Policy::jail()).await {
        let output = bash(&workspace, &cat, &answer).await;
        assert!(output.is_error);
    }
    let workspace = Workspace::recorded_with(ToolSandbox::fixed);
    workspace.apply(Policy::at(Level::Workspace));
    let output = bash(&workspace, &cat, &answer).await;
    assert!(output.is_error, "{}", output.joined_text());
    let allowance = Allowance::Read(outside.clone());
    let refused = workspace.sandbox.allow(&[allowance], AllowedFor::Session);
    assert!(matches!(refused, Err(AllowError::Fixed)));
    let workspace = Workspace::recorded();
    bash(
        &workspace,
        "cat /nonexistent; echo Permission denied; false",
        &answer,
    )
    .await;
    assert_eq!(answer.count(), 0);
}

#[tokio::test]
async fn an_output_cannot_choose_what_is_allowed() {
    let (_directory, outside) = outside();
    fs::write(outside.join("secret"), "secret").unwrap();
    for workspace in confined(Policy::at(Level::Workspace)).await {
        // It can name a path that is refused: the user sees it in full. Hosts come from the proxy only.
        let answer = Chooses::new("session");
        let command = "echo 'curl: (6) Could not resolve host: evil.example'; exit 6";
        let output = bash(&workspace, command, &answer).await;
        assert!(output.is_error);
        let names: Vec<String> = answer.options().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["once", "no"]);
        assert_eq!(workspace.sandbox.policy(), Policy::at(Level::Workspace));
    }
}

/// Serves one response at an address that programs reach through the proxy.
fn serve() -> Option<(u16, std::thread::JoinHandle<()>)> {
    let listener = TcpListener::bind("127.0.0.2:0").ok()?;
    let port = listener.local_addr().ok()?.port();
    let serving = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let _ = client.read(&mut request);
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nserved";
        client.write_all(response.as_bytes()).unwrap();
    });
    Some((port, serving))
}

#[tokio::test]
async fn a_host_is_named_and_allowed() {
    let workspace = Workspace::recorded();
    workspace.apply(Policy::at(Level::Workspace));
    if !workspace.has_view() {
        skip("there is no network of its own without namespaces");
        return;
    }
    if bash(&workspace, "curl --version", &Chooses::new("no"))
        .await
        .is_error
    {
        skip("there is no curl");
        return;
    }
    let (port, serving) = serve().unwrap();
    let command = format!("curl -sS --fail --max-time 20 http://127.0.0.2:{port}/");
    let output = bash(&workspace, &command, &Chooses::new("no")).await;
    let text = output.joined_text();
    assert!(output.is_error, "{text}");
    let named = format!(
        "\n[sandbox workspace] connections refused: 127.0.0.2:{port}; only the user can allow them"
    );
    assert!(text.contains(&named), "{text}");

    let answer = Chooses::new("session");
    let output = bash(&workspace, &command, &answer).await;
    let text = output.joined_text();
    assert!(!output.is_error && text.contains("served"), "{text}");
    assert!(answer.options()[1].1.contains(&format!("127.0.0.2:{port}")));
    serving.join().unwrap();
    // Another port of the host is still refused.
    let command = format!("curl -sS --max-time 20 http://127.0.0.2:{}/", port ^ 1);
    let text = bash(&workspace, &command, &Chooses::new("no"))
        .await
        .joined_text();
    assert!(text.contains("connections refused"), "{text}");
}

/// A command that asks the proxy for `host`, and succeeds whatever it says.
pub(super) fn asks_for(host: &str) -> String {
    format!(
        "bash -c 'exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; \
         printf \"CONNECT {host} HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n\" >&3; read -r answer <&3; \
         echo \"$answer\"' | tail -1"
    )
}

#[tokio::test]
async fn a_refused_host_is_asked_about_once_although_the_command_succeeded() {
    let workspace = Workspace::recorded();
    workspace.apply(Policy::at(Level::Workspace));
    if !workspace.has_view() {
        skip("there is no network of its own without namespaces");
        return;
    }
    let no = Chooses::new("no");
    let output = bash(&workspace, &asks_for("one.example:443"), &no).await;
    let text = output.joined_text();
    assert!(!output.is_error && text.contains("403"), "{text}");
    assert_eq!(no.count(), 1);
    let names: Vec<String> = no.options().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["once", "session", "no"]);
    // The user has decided.
    bash(&workspace, &asks_for("one.example:443"), &no).await;
    assert_eq!(no.count(), 1);
    // Another host is another question, which names only this one.
    let both = format!(
        "{}; {}",
        asks_for("one.example:443"),
        asks_for("two.example:443")
    );
    bash(&workspace, &both, &no).await;
    assert_eq!(no.count(), 2);
    let title = no.options()[1].1.clone();
    assert!(
        title.contains("two.example") && !title.contains("one.example"),
        "{title}"
    );
    // A command that failed may need what was declined before.
    let failing = format!("{}; exit 1", asks_for("one.example:443"));
    bash(&workspace, &failing, &no).await;
    assert_eq!(no.count(), 3);
    assert!(no.options()[1].1.contains("one.example"));
    // After a change of level, the question comes again.
    workspace.apply(Policy::default());
    workspace.apply(Policy::at(Level::Workspace));
    bash(&workspace, &asks_for("one.example:443"), &no).await;
    assert_eq!(no.count(), 4);
}
