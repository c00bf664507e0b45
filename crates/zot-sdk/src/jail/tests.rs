use std::fs;
use std::path::{Path, PathBuf};

use crate::wire::StateData;
use crate::{
    AgentEvent, CommandConfinement, Config, ContextSearch, JailReport, ModelChoice, Runtime,
    SkillSearch, ToolChoice,
};

struct Directories {
    directory: tempfile::TempDir,
}

impl Directories {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("work")).unwrap();
        fs::create_dir_all(directory.path().join("home/skills/tidy")).unwrap();
        fs::write(directory.path().join("secret.txt"), "the secret\n").unwrap();
        Self { directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn config(&self) -> Config {
        Config {
            model: ModelChoice::provider("offline"),
            cwd: Some(self.path("work")),
            home: Some(self.path("home")),
            ..Config::default()
        }
    }
}

/// Returns the result of the tool call that the prompt causes.
async fn result(runtime: &Runtime, prompt: &str) -> (bool, String) {
    let mut events = runtime.prompt(prompt, Vec::new()).unwrap();
    let mut result = None;
    while let Some(event) = events.next().await {
        if let AgentEvent::ToolFinished {
            result: finished, ..
        } = event
        {
            result = Some((!finished.is_error, format!("{:?}", finished.content)));
        }
    }
    result.unwrap()
}

fn read(path: &Path) -> String {
    let arguments = serde_json::json!({ "path": path });
    format!("call read {arguments}")
}

fn jailed(state: &StateData) -> Option<bool> {
    let state = serde_json::to_value(state).unwrap();
    state.get("jailed").map(|jailed| jailed == true)
}

#[tokio::test]
async fn the_jail_is_closed_and_opened_between_two_calls() {
    let directories = Directories::new();
    let runtime = Runtime::new(directories.config()).unwrap();
    let prompt = read(&directories.path("secret.txt"));
    assert_eq!(runtime.jailed(), None);
    assert_eq!(jailed(&runtime.state()), None, "clients see nothing new");
    assert!(result(&runtime, &prompt).await.0);

    let report = runtime.jail().unwrap();
    assert_eq!(report.directory, directories.path("work"));
    assert_eq!(report.own_directory_inside, None);
    assert_eq!(runtime.jailed(), Some(report));
    assert_eq!(jailed(&runtime.state()), Some(true));
    let (success, text) = result(&runtime, &prompt).await;
    assert!(
        !success && text.contains("only the user can lift this"),
        "{text}"
    );

    runtime.unjail();
    assert_eq!(runtime.jailed(), None);
    assert!(result(&runtime, &prompt).await.0);
}

#[tokio::test]
async fn skills_of_the_user_stay_readable() {
    let directories = Directories::new();
    let skill = directories.path("home/skills/tidy");
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: tidy\ndescription: Tidies.\n---\nSee list.txt.\n",
    )
    .unwrap();
    fs::write(skill.join("list.txt"), "one\n").unwrap();
    fs::write(directories.path("home/auth.json"), "{}").unwrap();
    let runtime = Runtime::new(Config {
        tools: ToolChoice {
            jail: true,
            ..ToolChoice::default()
        },
        context: ContextSearch {
            skills: SkillSearch::All,
            ..ContextSearch::default()
        },
        ..directories.config()
    })
    .unwrap();
    let (success, text) = result(&runtime, "call skill {\"name\": \"tidy\"}").await;
    assert!(success, "{text}");
    let (success, text) = result(&runtime, &read(&skill.join("list.txt"))).await;
    assert!(success, "{text}");
    let (success, _) = result(&runtime, &read(&directories.path("home/auth.json"))).await;
    assert!(!success);
    let write = serde_json::json!({"path": skill.join("list.txt"), "content": "x"});
    let (success, _) = result(&runtime, &format!("call write {write}")).await;
    assert!(!success);
}

#[tokio::test]
async fn gaps_are_reported() {
    let directories = Directories::new();
    let runtime = Runtime::new(Config {
        cwd: Some(directories.path("")),
        tools: ToolChoice {
            jail: true,
            ..ToolChoice::default()
        },
        ..directories.config()
    })
    .unwrap();
    let home = directories.path("home").display().to_string();
    assert!(
        runtime
            .warnings()
            .iter()
            .any(|warning| warning.contains(&home)),
        "{:?}",
        runtime.warnings()
    );

    let caveats = |commands| {
        let report = JailReport {
            directory: directories.path("work"),
            commands,
            own_directory_inside: None,
        };
        report.caveats()
    };
    assert!(caveats(CommandConfinement::Full).is_empty());
    assert_eq!(
        caveats(CommandConfinement::Impossible("why".to_owned())),
        ["bash cannot be confined here (why), so it is refused while zot is jailed"]
    );
}
