use super::*;

#[test]
fn the_defaults_are_those_of_the_original() {
    let Loaded { config, warnings } = Config::parse("").unwrap();
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(
        config.socket(ServiceKind::AgentLoop),
        Path::new("/run/zino/agr.sock")
    );
    assert_eq!(config.agent.temperature, 0.7);
    assert_eq!(config.agr.max_iterations, 5);
    assert_eq!(config.exc.timeout, 30.0);
    assert_eq!(config.mem.data_dir, Path::new("data/mem"));
    assert_eq!(config.ctx.history_limit, 50);
    assert_eq!(config.ctx.hard_memory_top_k, 3);
    assert_eq!(config.tools_dir(), Path::new("tools"));
    assert!(config.rtr.streaming);
}

#[test]
fn a_misspelt_key_yields_a_warning() {
    let text = "[agr]\nmax_iteration = 3\n[memory]\nsocket = \"x\"\n[logging]\nlevel = \"loud\"\n";
    let Loaded { config, warnings } = Config::parse(text).unwrap();
    assert_eq!(config.agr.max_iterations, 5);
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(
        warnings[0].contains("did you mean \"max_iterations\"?"),
        "{warnings:?}"
    );
    assert!(
        warnings[1].contains("unknown section [memory]"),
        "{warnings:?}"
    );
    assert!(warnings[2].contains("loud"), "{warnings:?}");
}

#[test]
fn numbers_may_be_whole_and_types_are_checked() {
    let config = Config::parse("[exc]\ntimeout = 3\n[agent]\ntemperature = 1\n")
        .unwrap()
        .config;
    assert_eq!(config.exc.timeout, 3.0);
    assert_eq!(config.agent.temperature, 1.0);
    for wrong in ["\"yes\"", "1"] {
        let error = Config::parse(&format!("[exc]\nsandbox = {wrong}\n")).unwrap_err();
        assert!(
            error.contains("sandbox") && error.contains("workspace"),
            "{error}"
        );
    }
    let sandbox = |value: &str| {
        let parsed = Config::parse(&format!("[exc]\nsandbox = {value}\n"));
        parsed.unwrap().config.exc.sandbox
    };
    assert_eq!(sandbox("false"), ExecutorSandbox::Off);
    assert_eq!(sandbox("\"off\""), ExecutorSandbox::Off);
    assert_eq!(sandbox("true"), ExecutorSandbox::WorkingDirectory);
    let level = ExecutorSandbox::Level(zot_process::sandbox::Level::ReadOnly);
    assert_eq!(sandbox("\"read-only\""), level);
}

/// Covers values that the original only uses as numbers or for their truthiness.
#[test]
fn values_are_read_as_python_uses_them() {
    let config = Config::parse(
        "[agent]\ntemperature = \"0.2\"\ntop_p = true\nmax_iterations = \"a few\"\n\
         [agr]\nmax_iterations = \" 7 \"\n[rtr]\nstreaming = 0\n[exc]\ntimeout = \"2.5\"\n\
         [ctx]\nhistory_limit = \"10\"\nhard_memory_top_k = 2.9\n[api]\nkey = false\n",
    )
    .unwrap()
    .config;
    assert_eq!(config.agent.temperature, 0.2);
    assert_eq!(config.agent.top_p, 1.0);
    assert_eq!(config.agent.max_iterations, "a few");
    assert_eq!(config.agr.max_iterations, 7);
    assert!(!config.rtr.streaming);
    assert_eq!(config.exc.timeout, 2.5);
    assert_eq!(config.ctx.history_limit, 10);
    assert_eq!(config.ctx.hard_memory_top_k, 2);
    assert_eq!(config.api.key, None);
    for (value, expected, warnings) in [
        ("\"yes\"", true, 0),
        ("\"\"", false, 0),
        ("1", true, 0),
        ("[]", false, 0),
        ("\"False\"", true, 1),
    ] {
        let loaded = Config::parse(&format!("[rtr]\nstreaming = {value}\n")).unwrap();
        assert_eq!(loaded.config.rtr.streaming, expected, "{value}");
        assert_eq!(loaded.warnings.len(), warnings, "{value}");
    }
    for (wrong, key) in [
        ("[agent]\ntemperature = \"hot\"\n", "temperature"),
        ("[agr]\nmax_iterations = \"1.5\"\n", "max_iterations"),
        ("[ctx]\nhistory_limit = []\n", "history_limit"),
        ("[api]\nkey = 5\n", "key"),
    ] {
        let error = Config::parse(wrong).unwrap_err();
        assert!(error.contains(key), "{wrong}: {error}");
    }
}

#[test]
fn time_limits() {
    let limits = |text: &str| {
        let config = Config::parse(text).unwrap().config;
        [
            config.answer_limit(),
            config.router_limit(),
            config.idle_limit(),
        ]
        .map(|limit| limit.as_secs_f64())
    };
    assert_eq!(limits(""), [5.0, 610.0, 1860.0]);
    assert_eq!(
        limits("[rtr]\ntimeout = 90\n[exc]\ntimeout = 10\n[wire]\nanswer_timeout = 0.5\n"),
        [0.5, 100.0, 310.0]
    );
    assert_eq!(limits("[wire]\nidle_timeout = 7\n")[2], 7.0);
    for key in ["answer_timeout", "idle_timeout"] {
        for wrong in ["0", "-1.0", "inf", "nan"] {
            let error = Config::parse(&format!("[wire]\n{key} = {wrong}\n")).unwrap_err();
            assert!(
                error.contains(key) && error.contains("more than 0"),
                "{error}"
            );
        }
    }
}

#[test]
fn no_error_shows_a_key_or_a_password() {
    for text in [
        "[store]\nurl = \"postgres://zino:secret@db/zino\n",
        "[store]\nurl = [\"postgres://zino:secret@db/zino\"]\n",
        "[store]\nurl = \"postgres://zino:secret@db/zino\" x\n",
        "[api]\nkey = \"secret\n",
    ] {
        let error = Config::parse(text).unwrap_err();
        assert!(error.starts_with("line 2: "), "{error}");
        assert!(!error.contains("secret"), "{error}");
    }
    let error = Config::parse("[exc]\ntimeout = \"soon\"\n").unwrap_err();
    assert!(error.contains("timeout = \"soon\""), "{error}");
    let config = Config::parse("[store]\nurl = \"postgres://zino:secret@db/zino\"\n");
    let shown = format!("{:?}", config.unwrap());
    assert!(!shown.contains("secret"), "{shown}");
}

#[test]
fn a_database_or_a_mem_elsewhere_means_holds() {
    let holds = |text| Config::parse(text).unwrap().config.holds_channels();
    assert!(!holds(""));
    assert!(holds("[store]\nurl = \"postgres://zino@localhost/zino\"\n"));
    assert!(!holds("[store]\nurl = \"\"\nconnections = 3\n"));
    assert!(holds("[peers]\nmem = \"unix:///run/mem.sock\"\n"));
    assert!(!holds("[peers]\nrtr = \"unix:///run/rtr.sock\"\n"));
}
