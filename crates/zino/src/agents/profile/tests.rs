use std::fs;
use std::path::Path;

use zot_process::sandbox::Level;
use zot_sdk::{ApprovalScope, ToolSelection};

use super::{ProfileError, check_directory, profiles, session_config};
use crate::config::agents::Profile;
use crate::config::{BusUrl, Config};

fn config(names: &[&str]) -> Config {
    let mut config = Config::default();
    for name in names {
        config.agents.insert((*name).to_owned(), Profile::default());
    }
    config
}

#[test]
fn all_profiles_are_served_unless_some_are_named() {
    let config = config(&["build", "chat"]);
    let names = |named: &[&str]| -> Result<Vec<String>, String> {
        let named: Vec<String> = named.iter().map(|name| (*name).to_owned()).collect();
        let found = profiles(&config, &named).map_err(|error| error.to_string())?;
        Ok(found.into_iter().map(|(name, _)| name.to_owned()).collect())
    };
    assert_eq!(names(&[]).unwrap(), ["build", "chat"]);
    assert_eq!(names(&["chat"]).unwrap(), ["chat"]);
    let unknown = names(&["tea"]).unwrap_err();
    assert_eq!(
        unknown,
        "there is no [agents.tea]: expected one of build, chat"
    );
    assert!(matches!(
        profiles(&Config::default(), &[]),
        Err(ProfileError::None)
    ));
}

#[test]
fn a_profile_becomes_the_configuration_of_its_sessions() {
    let profile = Profile {
        provider: Some("offline".to_owned()),
        tools: Some(vec!["read".to_owned()]),
        approve: Some("writes".to_owned()),
        ..Profile::default()
    };
    let config = session_config("p", &profile).unwrap();
    assert_eq!(config.model.provider.as_deref(), Some("offline"));
    assert_eq!(
        config.tools.selection,
        ToolSelection::Only(vec!["read".to_owned()])
    );
    let ApprovalScope::Tools(tools) = config.tools.approval.scope else {
        panic!("not all tools, and not none");
    };
    assert_eq!(tools, ["bash", "edit", "write"]);
    assert!(config.tools.jail);
    assert!(config.tools.sandbox.is_fixed);
    assert!(!config.extensions.discover);

    let none = Profile {
        tools: Some(Vec::new()),
        ..Profile::default()
    };
    let config = session_config("p", &none).unwrap();
    assert_eq!(config.tools.selection, ToolSelection::None);
    let wrong = Profile {
        approve: Some("maybe".to_owned()),
        ..Profile::default()
    };
    let error = session_config("p", &wrong).err().unwrap().to_string();
    assert!(error.contains("\"maybe\""), "{error}");
}

#[test]
fn keys_must_not_be_where_tools_work() {
    let directory = tempfile::tempdir().unwrap();
    let work = directory.path().join("work");
    fs::create_dir(&work).unwrap();
    let profile = Profile {
        directory: work.clone(),
        ..Profile::default()
    };
    let check = |config: &Config, file: &Path| check_directory("p", &profile, config, file);
    let mut config = Config::default();
    let inside = work.join("ZINO.toml");
    fs::write(&inside, "").unwrap();
    check(&config, &inside).unwrap();
    config.bus.url = Some(BusUrl::new("nats://u:p@h"));
    let error = check(&config, &inside).unwrap_err().to_string();
    assert!(error.contains("ZINO.toml"), "{error}");
    let outside = directory.path().join("ZINO.toml");
    fs::write(&outside, "").unwrap();
    check(&config, &outside).unwrap();
    config.bus.nkey = Some(inside.clone());
    assert!(matches!(
        check(&config, &outside),
        Err(ProfileError::Exposed { .. })
    ));
    let missing = Profile {
        directory: work.join("none"),
        ..Profile::default()
    };
    assert!(check_directory("p", &missing, &config, &outside).is_err());
}

#[test]
fn a_profile_sets_the_sandbox_of_its_sessions() {
    let text = "[agents.p]\njail = false\nsandbox = \"workspace\"\nconnect = [\"a.org:443\"]\n";
    let parsed = Config::parse(text).unwrap();
    assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
    let mut profile = parsed.config.agents["p"].clone();
    let policy = session_config("p", &profile).unwrap().tools.policy();
    assert_eq!(policy.level, Level::Workspace);
    assert_eq!(policy.rules.connect, ["a.org:443".parse().unwrap()]);
    profile.connect = vec!["a:b:c".to_owned()];
    let error = session_config("p", &profile).err().unwrap().to_string();
    assert!(error.starts_with("[agents.p] connect: "), "{error}");
    // Beside the jail, the stricter of the two counts.
    let profile = Profile {
        sandbox: Level::ReadOnly,
        ..Profile::default()
    };
    let policy = session_config("p", &profile).unwrap().tools.policy();
    assert_eq!(policy.level, Level::ReadOnly);
    assert!(policy.rules.connect.is_empty() && policy.rules.hides_system_from_tools);
    let error = Config::parse("[agents.p]\nsandbox = \"tight\"\n").unwrap_err();
    assert!(error.contains("off, workspace or read-only"), "{error}");
}
