use super::*;

fn refusal(config: &str, service: ServiceKind, names: &[&str], purpose: Purpose) -> Option<String> {
    let config = Config::parse(config).unwrap().config;
    let caller = Caller::Certified {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        table: Arc::new(AllowTable::of(&config, service)),
    };
    caller.refusal(purpose)
}

#[test]
fn only_names_in_the_table_may_call() {
    let memory = ServiceKind::Memory;
    for allowed in [
        &["ctx.default.zino"][..],
        &["x.default.zino", "daemon.default.zino"],
    ] {
        assert_eq!(refusal("", memory, allowed, Purpose::Work), None);
    }
    for (names, expected) in [
        (
            &["agr.default.zino", "rtr.default.zino"][..],
            "agr.default.zino, rtr.default.zino may not call mem: allowed are daemon.default.zino, \
             ctx.default.zino",
        ),
        (
            &["ctx.prod.zino"],
            "ctx.prod.zino may not call mem: allowed are daemon.default.zino, ctx.default.zino",
        ),
        (
            &[],
            "a certificate without a name may not call mem: allowed are daemon.default.zino, \
             ctx.default.zino",
        ),
    ] {
        let found = refusal("", memory, names, Purpose::Work);
        assert_eq!(found.as_deref(), Some(expected));
    }
}

#[test]
fn every_name_of_the_namespace_may_probe() {
    let executor = ServiceKind::Executor;
    assert_eq!(
        refusal("", executor, &["web.default.zino"], Purpose::Probe),
        None
    );
    for stranger in ["web.prod.zino", "webdefault.zino", "default.zino"] {
        assert!(
            refusal("", executor, &[stranger], Purpose::Probe).is_some(),
            "{stranger}"
        );
    }
}

#[test]
fn allow_replaces_the_table() {
    let config = "[allow]\nexc = \"web\"\nmem = []\n";
    let web = ["web.default.zino"];
    assert_eq!(
        refusal(config, ServiceKind::Executor, &web, Purpose::Work),
        None
    );
    let agent_loop = ["agr.default.zino"];
    assert!(refusal(config, ServiceKind::Executor, &agent_loop, Purpose::Work).is_some());
    assert_eq!(
        refusal(config, ServiceKind::Memory, &web, Purpose::Work).as_deref(),
        Some("web.default.zino may not call mem: [allow] mem is empty")
    );
}

#[test]
fn exc_may_claim_at_mem_and_nothing_else() {
    let executor = &["exc.default.zino"][..];
    let memory = ServiceKind::Memory;
    assert_eq!(refusal("", memory, executor, Purpose::Claim), None);
    assert_eq!(
        refusal("allow.mem = []\n", memory, executor, Purpose::Claim),
        None
    );
    assert!(refusal("", memory, executor, Purpose::Work).is_some());
    for (service, names) in [
        (ServiceKind::Context, executor),
        (memory, &["exc.prod.zino"]),
        (memory, &["agr.default.zino"]),
    ] {
        assert!(refusal("", service, names, Purpose::Claim).is_some());
    }
    let purpose = |text: &str| Purpose::of(&Frame::parse(text.as_bytes()).unwrap());
    assert_eq!(purpose(r#"{"type":"renew_claim"}"#), Purpose::Claim);
    assert_eq!(purpose(r#"{"type":"get_soft"}"#), Purpose::Work);
    assert_eq!(purpose(r#"{"type":"ping"}"#), Purpose::Probe);
}
