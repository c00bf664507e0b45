use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{Reachable, check, leads_into, reachable};
use crate::config::Config;

/// A configuration whose files are below `root`, with a sandbox.
fn config(root: &Path, more: &str) -> Config {
    let at = |name: &str| root.join(name).display().to_string();
    let text = format!(
        "exc.sandbox = \"workspace\"\ntools.dir = \"{}\"\nskills.dir = \"{}\"\n\
         sys.template = \"{}\"\nmem.data_dir = \"{}\"\n{more}",
        at("tools"),
        at("skills"),
        at("SYSTEM.md"),
        at("data/mem")
    );
    let mut config = Config::parse(&text).unwrap().config;
    config.file = Some(root.join("ZINO.toml"));
    config.directory = Some(root.to_owned());
    config
}

fn problem(config: &Config, working_dir: &Path) -> Option<String> {
    let checked = check(config, &reachable(config, working_dir));
    checked.err().map(|error| error.to_string())
}

#[test]
fn files_of_the_services_must_not_be_where_programs_work() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name);
    for name in ["work", "elsewhere"] {
        fs::create_dir(at(name)).unwrap();
    }
    let plain = config(&root, "");
    assert_eq!(problem(&plain, &at("work")), None);
    let said = problem(&plain, &root).unwrap();
    let expected = format!(
        "[exc] working_dir {} holds the configuration ({}), which programs in the sandbox could read or \
         change: set working_dir to a directory of its own",
        root.display(),
        at("ZINO.toml").display()
    );
    assert_eq!(said, expected);

    type Change = fn(&mut Config, PathBuf);
    let changes: [(&str, Change); 8] = [
        ("the configuration", |config, path| config.file = Some(path)),
        (".env", |config, path| config.directory = Some(path)),
        ("the tools", |config, path| config.tools.dir = Some(path)),
        ("the skills", |config, path| config.skills.dir = Some(path)),
        ("the system prompt", |config, path| {
            config.sys.template = path;
        }),
        ("the data of mem", |config, path| config.mem.data_dir = path),
        ("the key of [tls]", |config, path| {
            config.tls.key = Some(path);
        }),
        ("the socket of rtr", |config, path| {
            config.rtr.socket = Some(path);
        }),
    ];
    for (what, change) in changes {
        let mut config = plain.clone();
        // Whether it exists or not.
        change(&mut config, at("work/new/thing"));
        let said = problem(&config, &at("work")).unwrap();
        assert!(said.contains(what), "{said}");
        assert_eq!(problem(&config, &at("elsewhere")), None);
    }
    let off = Config {
        exc: crate::config::Executor::default(),
        ..plain
    };
    assert_eq!(problem(&off, &root), None);
}

#[test]
fn directories_that_programs_can_write_besides_count_as_well() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    for name in ["work", "tools", "shared"] {
        fs::create_dir(root.join(name)).unwrap();
    }
    let work = root.join("work");
    let written = |paths: &str| problem(&config(&root, &format!("exc.write = {paths}\n")), &work);
    assert_eq!(written("[\"../shared\", \"../none\"]"), None);
    let said = written("[\"../shared\", \"../tools\"]").unwrap();
    assert!(said.starts_with("[exc] write "), "{said}");
    assert!(said.contains("the tools"), "{said}");
    let granted = reachable(&config(&root, "exc.write = [\"../shared\"]\n"), &work);
    let expected = [("working_dir", "work"), ("write", "shared")].map(|(key, name)| Reachable {
        key,
        directory: root.join(name),
    });
    assert_eq!(granted, expected);
}

#[test]
fn links_do_not_hide_where_a_path_leads() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name);
    for name in ["work/tools", "outside/tools"] {
        fs::create_dir_all(at(name)).unwrap();
    }
    symlink(at("work/tools"), at("into")).unwrap();
    symlink(at("outside"), at("work/out")).unwrap();
    symlink(at("work"), at("alias")).unwrap();
    let work = at("work");
    for inside in [
        "work",
        "work/tools",
        "work/none/at/all",
        "into",
        "into/bash.json",
        // A program can replace the link.
        "work/out/tools",
        "alias",
        "alias/tools",
        "outside/../work/tools",
    ] {
        assert!(leads_into(&at(inside), &work), "{inside}");
    }
    for outside in ["outside/tools", "workshop", "none", "work/../outside", ""] {
        assert!(!leads_into(&at(outside), &work), "{outside}");
    }
}
