use super::super::expansion::expanded;
use super::*;

#[test]
fn variables_are_expanded_once_and_stay_if_they_are_not_set() {
    let lookup = |name: &str| match name {
        "A" => Some("1".to_owned()),
        "EMPTY" => Some(String::new()),
        "NESTED" => Some("${A}".to_owned()),
        _ => None,
    };
    for (text, expected, unset) in [
        ("plain", "plain", &[][..]),
        ("${A}", "1", &[]),
        ("x${A}y${A}", "x1y1", &[]),
        ("${A:-2}${B:-2}${B:-}", "12", &[]),
        ("[${EMPTY:-2}]", "[]", &[]),
        ("${B}${C}", "${B}${C}", &["B", "C"]),
        (
            "$A ${} ${1A} ${A-2} ${A B} ${A",
            "$A ${} ${1A} ${A-2} ${A B} ${A",
            &[],
        ),
        ("${NESTED}", "${A}", &[]),
        ("ä${A}ö", "ä1ö", &[]),
        ("${${A}}", "${1}", &[]),
        ("${B:-https://x}", "https://x", &[]),
    ] {
        let found = expanded(text, &lookup);
        assert_eq!(
            (found.text.as_str(), found.unset.as_slice()),
            (
                expected,
                &unset
                    .iter()
                    .map(|name| (*name).to_owned())
                    .collect::<Vec<_>>()[..]
            ),
            "{text}"
        );
    }
}

#[test]
fn every_part_of_an_address_is_expanded() {
    let place = Place::new().user(
        r#"{"mcpServers": {
            "a": {"command": "${SET}", "args": ["${SET}", "${UNSET}"], "env": {"E": "${SET}"}},
            "b": {"url": "https://${SET}", "headers": {"H": "Bearer ${SET}"}, "oauth": {"clientSecret": "${SET}"}}}}"#,
    );
    let loaded = place.load(ProjectServers::Skip);
    let texts: Vec<&str> = loaded
        .problems
        .iter()
        .map(|problem| problem.text.as_str())
        .collect();
    assert_eq!(
        texts,
        [
            "\"args\" contains ${UNSET}, but $UNSET is not set, so it stays as it is: set it, or write ${UNSET:-default}"
        ]
    );
    let [a, b] = loaded.entries().try_into().unwrap();
    let Address::Stdio {
        command, args, env, ..
    } = a.address
    else {
        panic!()
    };
    assert_eq!(
        (command.as_str(), args[0].as_str(), args[1].as_str()),
        ("value", "value", "${UNSET}")
    );
    assert_eq!(env["E"], "value");
    let Address::Http { url, headers } = b.address else {
        panic!()
    };
    assert_eq!(
        (url.as_str(), headers["H"].as_str()),
        ("https://value", "Bearer value")
    );
    assert_eq!(b.oauth.unwrap().client_secret.as_deref(), Some("value"));
    let Address::Stdio { command, .. } = &loaded.servers[0].written.address else {
        panic!()
    };
    assert_eq!(command, "${SET}");
}

#[test]
fn the_directory_of_the_project_has_the_name_other_clients_give_it() {
    let place =
        Place::new().project(r#"{"mcpServers": {"a": {"command": "${CLAUDE_PROJECT_DIR:-.}/x"}}}"#);
    let [entry] = place
        .load(ProjectServers::Start)
        .entries()
        .try_into()
        .unwrap();
    let Address::Stdio { command, .. } = entry.address else {
        panic!()
    };
    assert_eq!(command, place.project.join("x").display().to_string());
}
