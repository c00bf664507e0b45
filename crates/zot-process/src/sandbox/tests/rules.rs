//! Paths of rules in places that a program could write to before.

use std::fs;
use std::os::unix::fs::symlink;

use super::{Fixture, fixtures, run, workspace};
use crate::sandbox::{Policy, Sandbox, Surroundings};

/// Makes a directory with a secret beside one that a rule will name.
fn with_secret(fixture: &Fixture) {
    let home = fixture.home.path();
    fs::create_dir_all(home.join("data/inner")).unwrap();
    fs::create_dir(home.join("secret")).unwrap();
    fs::write(home.join("secret/key"), "a secret").unwrap();
}

fn reading_and_writing(read: &[&str], write: &[&str]) -> Policy {
    let mut policy = workspace();
    policy.rules.read = read.iter().map(Into::into).collect();
    policy.rules.write = write.iter().map(Into::into).collect();
    policy
}

#[test]
fn a_rule_does_not_follow_links_that_were_planted_in_another_writable_place() {
    let read = reading_and_writing(&["~/data/inner"], &["~/data"]);
    let write = reading_and_writing(&[], &["~/data", "~/data/inner"]);
    for policy in [read, write] {
        for fixture in fixtures() {
            with_secret(&fixture);
            let home = fixture.home.path().to_owned();
            let plant = format!(
                "cd {0}/data && mv inner moved && ln -s {0}/secret inner",
                home.display()
            );
            // As a rule of its own, the inner place cannot be moved with namespaces.
            match policy.rules.read.is_empty() {
                true => fixture.succeeds(reading_and_writing(&[], &["~/data"]), &plant),
                false => fixture.succeeds(policy.clone(), &plant),
            };
            for inside in ["data/inner", "secret"] {
                let path = home.join(inside);
                let path = path.display();
                let script = format!("cat {path}/key || echo x > {path}/key");
                let text = fixture.fails(policy.clone(), &script);
                assert!(!text.contains("a secret"), "{text}");
            }
            assert_eq!(fs::read(home.join("secret/key")).unwrap(), b"a secret");
        }
    }
}

#[test]
fn a_rule_follows_links_that_no_program_could_make() {
    for fixture in fixtures() {
        with_secret(&fixture);
        let home = fixture.home.path();
        symlink("secret", home.join("link")).unwrap();
        let policy = reading_and_writing(&["~/link"], &["~/data"]);
        let script = format!("cat {}/secret/key", home.display());
        assert_eq!(fixture.succeeds(policy, &script), "a secret");
    }
}

#[test]
fn a_toolchain_that_is_kept_in_a_writable_place_leads_nowhere_else() {
    for fixture in fixtures() {
        with_secret(&fixture);
        let home = fixture.home.path();
        symlink("data/inner", home.join(".cargo")).unwrap();
        fs::create_dir(home.join("data/inner/bin")).unwrap();
        let policy = reading_and_writing(&[], &["~/data"]);
        fixture.succeeds(policy.clone(), "ls ~/.cargo/bin");
        let plant = format!(
            "cd {0}/data/inner && mv bin moved && ln -s {0}/secret bin",
            home.display()
        );
        fixture.succeeds(policy.clone(), &plant);
        fixture.fails(policy, "cat ~/.cargo/bin/key");
    }
}

#[test]
fn a_link_in_place_of_the_working_directory_is_not_followed() {
    for fixture in fixtures() {
        with_secret(&fixture);
        let inner = fixture.home.path().join("data/inner");
        let surroundings = Surroundings {
            workspace: inner.clone(),
            home: Some(fixture.home.path().to_owned()),
            scratch: fixture.scratch.path().to_owned(),
            without_namespaces: fixture.without_namespaces,
            ..Surroundings::default()
        };
        let policy = reading_and_writing(&[], &[".."]);
        let sandbox = Sandbox::new(policy.clone(), surroundings).unwrap();
        let plant = "cd .. && mv inner moved && ln -s ../secret inner";
        let (code, text, _) = run(&sandbox, &inner, plant);
        assert_eq!(code, 0, "{text}");
        let refused = sandbox.set_policy(policy).unwrap_err().to_string();
        assert!(refused.contains("leads elsewhere"), "{refused}");
        let mut command = std::process::Command::new("/bin/sh");
        command.current_dir(&inner);
        assert!(sandbox.prepare(command).is_err());
    }
}
