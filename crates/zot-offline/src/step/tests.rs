use std::fs;
use std::process::Command;

use super::Step;
use crate::intent::{Intent, Measure, Selection};

fn command(intent: Intent) -> String {
    Step::new(intent).command.unwrap()
}

fn at(path: &str) -> Selection {
    Selection {
        path: Some(path.to_owned()),
        extension: None,
    }
}

#[test]
fn paths_are_quoted_for_the_shell() {
    assert_eq!(
        command(Intent::List(at("a b'; rm -rf $HOME #"))),
        r"ls -1Ap -- 'a b'\''; rm -rf $HOME #'"
    );
    assert_eq!(
        command(Intent::Count(Measure::Words, at("`x`"))),
        "wc -w < '`x`'"
    );
}

#[test]
fn arguments_are_json_whatever_the_text() {
    let step = Step::new(Intent::Write {
        path: "a\"b".into(),
        content: "line\n\"quoted\"\u{1}".into(),
    });
    let arguments: serde_json::Value = serde_json::from_str(&step.arguments).unwrap();
    assert_eq!(arguments["path"], "a\"b");
    assert_eq!(arguments["content"], "line\n\"quoted\"\u{1}");
    assert_eq!(step.tool, "write");
}

/// The commands do what they are meant to do, in a directory with hostile names.
#[test]
fn commands_work_in_a_real_shell() {
    let directory = tempfile::tempdir().unwrap();
    let odd = "-o 'd$d`";
    fs::create_dir(directory.path().join(odd)).unwrap();
    fs::write(directory.path().join(odd).join("x.rs"), "one two\nthree").unwrap();
    fs::create_dir(directory.path().join("target")).unwrap();
    fs::write(directory.path().join("target/y.rs"), "left out\n").unwrap();
    fs::write(directory.path().join("it's.txt"), "a b c").unwrap();
    let shell = |intent| {
        let output = Command::new("sh")
            .args(["-c", &command(intent)])
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let rust = |path: Option<&str>| Selection {
        path: path.map(str::to_owned),
        extension: Some("rs".to_owned()),
    };
    assert_eq!(shell(Intent::List(at(odd))), "x.rs");
    assert_eq!(
        shell(Intent::List(Selection::default())),
        format!("{odd}/\nit's.txt\ntarget/")
    );
    assert_eq!(shell(Intent::List(rust(None))), format!("./{odd}/x.rs"));
    assert_eq!(
        shell(Intent::List(rust(Some(odd)))),
        format!("./{odd}/x.rs")
    );
    assert_eq!(
        shell(Intent::Count(Measure::Files, Selection::default())),
        "2"
    );
    assert_eq!(shell(Intent::Count(Measure::Lines, at("it's.txt"))), "1");
    assert_eq!(shell(Intent::Count(Measure::Words, at("it's.txt"))), "3");
    assert_eq!(shell(Intent::Count(Measure::Bytes, at("it's.txt"))), "5");
    assert_eq!(shell(Intent::Count(Measure::Lines, rust(None))), "2");
    assert_eq!(shell(Intent::Count(Measure::Words, at("./"))), "6");
    assert_eq!(shell(Intent::Count(Measure::Lines, at("./"))), "3");
    assert_eq!(shell(Intent::Count(Measure::Bytes, at("./"))), "18");
}
