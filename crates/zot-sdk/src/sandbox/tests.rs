use std::fs;
use std::path::{Path, PathBuf};

use zot_tools::AllowedFor;

use crate::sandbox::{Allowance, Confines, Level, Policy, SandboxReport, Status};
use crate::wire::StateData;
use crate::{
    AgentEvent, Config, ContextSearch, ModelChoice, Runtime, SandboxChoice, SkillSearch,
    ToolChoice, Workspace,
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
    assert!(!success && !text.contains("the secret"), "{text}");

    runtime.unjail().unwrap();
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
    let names_home = |texts: &[String]| texts.iter().any(|text| text.contains(&home));
    let mut report = runtime.sandbox();
    assert_eq!(report.own_directory_inside, Some(directories.path("home")));
    // It is empty for commands where namespaces can show it so.
    assert_eq!(names_home(runtime.warnings()), !report.has_namespaces);
    report.has_namespaces = false;
    assert!(names_home(&report.caveats()));
    report.own_directory_inside = None;
    report.has_namespaces = true;
    report.enforcement.network = Status::Enforced;
    report.enforcement.files = Status::Enforced;
    assert_eq!(report.caveats(), [] as [String; 0]);
    report.enforcement.network = Status::NotEnforced("why".to_owned());
    assert_eq!(
        report.caveats(),
        ["the network of bash cannot be limited here (why)"]
    );
    report.enforcement.files = Status::NotEnforced("why".to_owned());
    assert_eq!(
        report.caveats(),
        ["bash cannot be confined here (why), so it is refused in the sandbox"]
    );
    report.policy.level = Level::Off;
    report.enforcement = report.policy.enforcement();
    assert_eq!(report.caveats(), [] as [String; 0]);
    // Limits are for all levels.
    report.enforcement.process_count = Status::NotEnforced("why".to_owned());
    assert_eq!(
        report.caveats(),
        ["the processes of bash cannot be limited here (why)"]
    );
}

fn confines_of(directories: &Directories, policy: Policy) -> Confines {
    let mut workspace = Workspace::of_process()
        .in_directory(&directories.path("work"))
        .with_zot_home(directories.path("home"));
    workspace.user_home = Some(directories.path("user"));
    let choice = ToolChoice {
        sandbox: policy.into(),
        ..ToolChoice::default()
    };
    Confines::new(&choice, &workspace, None, Vec::new())
        .unwrap()
        .0
}

#[test]
fn rules_that_open_the_own_directory_are_reported() {
    let directories = Directories::new();
    let home = directories.path("home");
    let report = |read: &[&str], write: &[&str], level: Level| {
        let mut policy = Policy::at(level);
        policy.rules.read = read.iter().map(PathBuf::from).collect();
        policy.rules.write = write.iter().map(PathBuf::from).collect();
        confines_of(&directories, policy).report()
    };
    let absolute = home.to_str().unwrap();
    for (read, write, expected) in [
        (&[absolute][..], &[][..], absolute),
        (&[], &[absolute], absolute),
        (&[], &["../home"], "../home"),
        (&[], &["../home/skills"], "../home/skills"),
        (&["~/../home"], &[], "~/../home"),
    ] {
        fs::create_dir_all(directories.path("user")).unwrap();
        let found = report(read, write, Level::Workspace);
        assert_eq!(found.own_directory_rules, [PathBuf::from(expected)]);
        let caveats = found.caveats();
        let text = "a rule opens zot's own directory, with keys, sessions and extensions: ";
        assert!(
            caveats.contains(&format!("{text}{expected}")),
            "{caveats:?}"
        );
    }
    // Skills are there to be read; at `off` no rule matters.
    let none: [PathBuf; 0] = [];
    let skills = report(&["../home/skills"], &[], Level::Workspace);
    assert_eq!(skills.own_directory_rules, none);
    let beside = report(&[], &["../user"], Level::Workspace);
    assert_eq!(beside.own_directory_rules, none);
    assert_eq!(
        report(&[], &[absolute], Level::Off).own_directory_rules,
        none
    );
}

#[test]
fn what_namespaces_would_enforce_is_reported_where_there_are_none() {
    const PROTECTED: &str = "protected files can be changed here; zot reports it afterwards";
    const MODES: &str =
        "modes and times of files cannot be changed here, so what compilers make is not executable";
    const HOSTS: &str = "connections to hosts are refused here, also to those that rules allow";
    let directories = Directories::new();
    let caveats = |level: Level, connect: &str, has_namespaces: bool| {
        let mut policy = Policy::at(level);
        let hosts = connect.split_whitespace();
        policy.rules.connect = hosts.map(|host| host.parse().unwrap()).collect();
        let mut report = confines_of(&directories, policy.clone()).report();
        report.has_namespaces = has_namespaces;
        report.enforcement.files = Status::Enforced;
        report.enforcement.network = Status::Enforced;
        report.caveats()
    };
    assert_eq!(caveats(Level::Workspace, "", false), [PROTECTED, MODES]);
    assert_eq!(
        caveats(Level::Workspace, "crates.io", false),
        [PROTECTED, MODES, HOSTS]
    );
    assert_eq!(caveats(Level::Workspace, "*", false), [PROTECTED, MODES]);
    assert_eq!(caveats(Level::ReadOnly, "crates.io", false), [MODES, HOSTS]);
    let none: [String; 0] = [];
    assert_eq!(caveats(Level::Off, "crates.io", false), none);
    assert_eq!(caveats(Level::Workspace, "crates.io", true), none);
}

#[test]
fn a_working_directory_around_the_home_is_reported() {
    let directories = Directories::new();
    fs::create_dir_all(directories.path("work/user")).unwrap();
    for (home, level, expected) in [
        (
            "work/user",
            Level::Workspace,
            Some("can be read and changed"),
        ),
        ("work", Level::ReadOnly, Some("included, can be read")),
        ("home", Level::Workspace, None),
    ] {
        let mut workspace = Workspace::of_process()
            .in_directory(&directories.path("work"))
            .with_zot_home(directories.path("home"));
        workspace.user_home = Some(directories.path(home));
        let choice = ToolChoice {
            sandbox: Policy::at(level).into(),
            ..ToolChoice::default()
        };
        let (confines, _) = Confines::new(&choice, &workspace, None, Vec::new()).unwrap();
        let report = confines.report();
        let mut caveats = report.caveats();
        caveats.retain(|caveat| caveat.contains("contains your home directory"));
        let found = caveats.first();
        assert_eq!(found.is_some(), expected.is_some(), "{home}");
        assert!(
            expected.is_none_or(|words| found.unwrap().ends_with(words)),
            "{found:?}"
        );
    }
}

#[test]
fn only_what_cannot_be_found_is_missing() {
    use std::os::unix::fs::PermissionsExt as _;
    let directories = Directories::new();
    fs::create_dir_all(directories.path("user/bin")).unwrap();
    let tool = directories.path("user/bin/tool");
    fs::write(&tool, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).unwrap();
    let missing = |level: Level, run: Option<&[&str]>, write: &[&str]| {
        let mut policy = Policy::at(level);
        policy.rules.run = run.map(|run| run.iter().map(PathBuf::from).collect());
        policy.rules.write = write.iter().map(PathBuf::from).collect();
        let report = confines_of(&directories, policy).report();
        (report.missing, report.missing_programs)
    };
    let programs = ["sh", "zot-no-such-program", "~/bin/tool", "~/bin/none"];
    assert_eq!(
        missing(Level::Workspace, Some(&programs), &[]).1,
        ["zot-no-such-program", "~/bin/none"].map(PathBuf::from)
    );
    let none: [PathBuf; 0] = [];
    assert_eq!(missing(Level::Workspace, None, &["out"]).0, none);
    assert_eq!(
        missing(Level::ReadOnly, None, &["out"]).0,
        [directories.path("work/out")]
    );
    // It only looks as if it were in the working directory.
    assert_eq!(
        missing(Level::Workspace, None, &["../out"]).0,
        [directories.path("out")]
    );
}

#[test]
fn a_rule_that_leads_through_a_link_of_a_program_is_told() {
    let directories = Directories::new();
    std::os::unix::fs::symlink("../user", directories.path("work/link")).unwrap();
    fs::create_dir_all(directories.path("user")).unwrap();
    let mut policy = Policy::at(Level::Workspace);
    policy.rules.read = vec![PathBuf::from("link"), directories.path("user")];
    let report = confines_of(&directories, policy).report();
    assert_eq!(report.linked, [directories.path("work/link")]);
    assert_eq!(report.missing, [] as [PathBuf; 0]);
    let told = report.caveats().join("\n");
    assert!(told.contains("leads through a link"), "{told}");
}

#[test]
fn what_a_rule_gives_free_is_not_listed_as_protected() {
    let directories = Directories::new();
    let protected = |write: &[&str]| {
        let mut policy = Policy::at(Level::Workspace);
        policy.rules.write = write.iter().map(PathBuf::from).collect();
        confines_of(&directories, policy).protected()
    };
    let all = protected(&["."]);
    assert!(all.contains(&".git/hooks") && all.contains(&".envrc"));
    let left = protected(&[".git", ".envrc"]);
    assert!(
        !left
            .iter()
            .any(|name| name.starts_with(".git/") || *name == ".envrc")
    );
    assert!(left.contains(&".mcp.json"));
}

#[tokio::test]
async fn the_sandbox_changes_between_two_calls_and_the_jail_stays() {
    let directories = Directories::new();
    let runtime = Runtime::new(directories.config()).unwrap();
    let read = read(&directories.path("secret.txt"));
    let write = r#"call write {"path": "made.txt", "content": "x"}"#;
    assert_eq!(runtime.state().sandbox, None);

    let report = runtime.set_sandbox(Policy::at(Level::ReadOnly)).unwrap();
    assert_eq!(report.directory, directories.path("work"));
    assert!(!report.is_jailed);
    assert!(!result(&runtime, &read).await.0);
    assert!(!result(&runtime, write).await.0);
    let state = serde_json::to_value(runtime.state()).unwrap();
    assert_eq!(state["sandbox"]["level"], "read-only");

    runtime.set_sandbox(Policy::at(Level::Workspace)).unwrap();
    assert!(!result(&runtime, &read).await.0);
    let (success, text) = result(&runtime, write).await;
    assert!(success, "{text}");

    // Both together, then one after the other is lifted.
    let report = runtime.jail().unwrap();
    assert!(report.policy.rules.hides_system_from_tools);
    assert!(!report.policy.rules.allows_every_host());
    runtime.set_sandbox(Policy::default()).unwrap();
    assert_eq!(runtime.jailed().unwrap().policy, Policy::jail());
    assert!(!result(&runtime, &read).await.0);
    runtime.unjail().unwrap();
    assert!(result(&runtime, &read).await.0);
}

#[tokio::test]
async fn a_fixed_sandbox_only_becomes_stricter() {
    let directories = Directories::new();
    let store = super::ProjectAllowances::new(&directories.path("home"));
    let host = "example.com:443".parse().unwrap();
    store
        .allow(&directories.path("work"), &[Allowance::Connect(host)])
        .unwrap();
    let runtime = |is_fixed| {
        Runtime::new(Config {
            tools: ToolChoice {
                sandbox: SandboxChoice {
                    is_fixed,
                    ..Policy::at(Level::Workspace).into()
                },
                ..ToolChoice::default()
            },
            ..directories.config()
        })
        .unwrap()
    };
    let free = runtime(false);
    assert_eq!(free.sandbox().policy.rules.connect.len(), 1);
    free.set_sandbox(Policy::default()).unwrap();

    let fixed = runtime(true);
    assert_eq!(fixed.sandbox().policy, Policy::at(Level::Workspace));
    let error = fixed.set_sandbox(Policy::default()).unwrap_err();
    assert!(error.to_string().contains("stricter"), "{error}");
    let mut wider = Policy::at(Level::ReadOnly);
    wider.rules.connect.push("*".parse().unwrap());
    fixed.set_sandbox(wider).unwrap_err();
    assert_eq!(fixed.sandbox().policy, Policy::at(Level::Workspace));
    fixed.jail().unwrap();
    fixed.unjail().unwrap();
    fixed.set_sandbox(Policy::at(Level::ReadOnly)).unwrap();
    fixed.set_sandbox(Policy::at(Level::Workspace)).unwrap();
}

#[test]
fn what_a_user_allows_meanwhile_is_kept() {
    let directories = Directories::new();
    let workspace = Workspace::of_process()
        .in_directory(&directories.path("work"))
        .with_zot_home(directories.path("home"));
    let choice = ToolChoice {
        sandbox: Policy::at(Level::Workspace).into(),
        ..ToolChoice::default()
    };
    let (confines, _) = Confines::new(&choice, &workspace, None, Vec::new()).unwrap();
    let host = |text: &str| Allowance::Connect(text.parse().unwrap());
    let tools = confines.of_tools();
    tools.allow(&[host("a:1")], AllowedFor::Session).unwrap();
    tools.allow(&[host("b:1")], AllowedFor::Project).unwrap();
    let connect = |report: SandboxReport| {
        let hosts = report.policy.rules.connect;
        hosts.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(connect(confines.report()), ["a:1", "b:1"]);
    // The jail would allow every host, and does not here.
    assert_eq!(connect(confines.set_jail(true).unwrap()), ["a:1", "b:1"]);
    let chosen = confines.report().chosen;
    let stricter = Policy {
        level: Level::ReadOnly,
        ..chosen
    };
    assert_eq!(connect(confines.set(stricter).unwrap()), ["a:1", "b:1"]);
    assert_eq!(confines.initial().rules.connect, []);

    // The next session has what was allowed for the project.
    let (next, _) = Confines::new(&choice, &workspace, None, Vec::new()).unwrap();
    assert_eq!(connect(next.report()), ["b:1"]);
}

/// Returns the result of a call, and how many questions were answered with `choice`.
async fn asked(runtime: &Runtime, prompt: &str, choice: &str) -> (bool, String, usize) {
    let mut events = runtime.prompt(prompt, Vec::new()).unwrap();
    let mut result = None;
    let mut questions = 0;
    while let Some(event) = events.next().await {
        match event {
            AgentEvent::QuestionAsked { id, question, .. } => {
                assert_eq!(question.origin, "sandbox");
                questions += 1;
                let content = serde_json::json!({ "choice": choice }).to_string();
                let content = crate::JsonObject::parse(&content).ok();
                let answer = crate::Answer::Accept { content };
                runtime.answer_question(id.as_str(), answer).unwrap();
            }
            AgentEvent::ToolFinished {
                result: finished, ..
            } => result = Some((!finished.is_error, format!("{:?}", finished.content))),
            _ => {}
        }
    }
    let (success, text) = result.unwrap();
    (success, text, questions)
}

#[tokio::test]
async fn what_a_user_allows_for_a_project_is_kept() {
    let directories = Directories::new();
    let config = || Config {
        tools: ToolChoice {
            sandbox: SandboxChoice {
                level: Some(Level::Workspace),
                ..SandboxChoice::default()
            },
            ..ToolChoice::default()
        },
        ..directories.config()
    };
    let runtime = Runtime::new(config()).unwrap();
    if matches!(runtime.sandbox().enforcement.files, Status::NotEnforced(_)) {
        testkit::skip("commands cannot be confined here");
        return;
    }
    let command = format!("cat {}", directories.path("secret.txt").display());
    let bash = format!("call bash {}", serde_json::json!({ "command": command }));
    // Nobody has said that they answer.
    let (success, text, questions) = asked(&runtime, &bash, "once").await;
    assert!(!success && questions == 0, "{text}");
    assert!(text.contains("--sandbox-read"), "{text}");
    runtime.accept_questions();
    let (success, text, questions) = asked(&runtime, &bash, "no").await;
    assert!(!success && questions == 1, "{text}");
    let (success, text, questions) = asked(&runtime, &bash, "project").await;
    assert!(success && questions == 1, "{text}");
    assert!(text.contains("the secret"), "{text}");
    let rules = runtime.sandbox().policy.rules;
    assert_eq!(rules.read, [directories.path("secret.txt")]);

    let later = Runtime::new(config()).unwrap();
    let (success, text, questions) = asked(&later, &bash, "no").await;
    assert!(success && questions == 0, "{text}");
}
