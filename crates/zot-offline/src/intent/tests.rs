use super::{Intent, Measure, Selection, Understanding, looks_like_path, understand};

fn select(path: &str, extension: &str) -> Selection {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    Selection {
        path: given(path),
        extension: given(extension),
    }
}

fn list(path: &str) -> Intent {
    Intent::List(select(path, ""))
}

fn read(path: &str) -> Intent {
    Intent::Read { path: path.into() }
}

fn explain(path: &str) -> Intent {
    Intent::Explain { path: path.into() }
}

fn run(command: &str) -> Intent {
    Intent::Run {
        command: command.into(),
    }
}

fn write(path: &str, content: &str) -> Intent {
    Intent::Write {
        path: path.into(),
        content: content.into(),
    }
}

fn lines(path: &str) -> Intent {
    Intent::Count(Measure::Lines, select(path, ""))
}

fn files(path: &str, extension: &str) -> Intent {
    Intent::Count(Measure::Files, select(path, extension))
}

fn check(table: &[(&str, Vec<Intent>)]) {
    for (prompt, intents) in table {
        let understood = understand(prompt);
        assert_eq!(&understood.intents, intents, "{prompt}");
        assert!(!understood.not_understood, "{prompt}");
    }
}

#[test]
fn lists() {
    check(&[
        ("list files", vec![list("")]),
        ("List the files in the current directory.", vec![list("")]),
        ("please list all files in src/", vec![list("src/")]),
        ("ls crates", vec![list("crates")]),
        ("list .", vec![list(".")]),
        ("list the files, thanks", vec![list("")]),
        ("Can you show me the files?", vec![list("")]),
        ("what files are here?", vec![list("")]),
        ("Which files are in this directory?", vec![list("")]),
        ("show me what is in src/", vec![list("src/")]),
        ("explain this project", vec![list("")]),
        (
            "list the files in 'my directory'",
            vec![list("my directory")],
        ),
        (
            "list the rust files in src",
            vec![Intent::List(select("src", "rs"))],
        ),
        (
            "list all .toml files",
            vec![Intent::List(select("", "toml"))],
        ),
        ("list src/a and src/b", vec![list("src/a"), list("src/b")]),
    ]);
}

#[test]
fn reads_and_explanations() {
    check(&[
        ("read README.md", vec![read("README.md")]),
        (
            "Please read the file src/main.rs.",
            vec![read("src/main.rs")],
        ),
        (
            "show me the contents of Cargo.toml",
            vec![read("Cargo.toml")],
        ),
        ("cat Makefile", vec![read("Makefile")]),
        ("open notes", vec![read("notes")]),
        ("read the file called 'my notes'", vec![read("my notes")]),
        ("read a.txt and b.txt", vec![read("a.txt"), read("b.txt")]),
        ("read ../x/.gitignore", vec![read("../x/.gitignore")]),
        ("explain src/lib.rs", vec![explain("src/lib.rs")]),
        ("what does src/lib.rs do?", vec![explain("src/lib.rs")]),
        ("describe the file notes", vec![explain("notes")]),
        ("summarize README.md please", vec![explain("README.md")]),
    ]);
}

#[test]
fn commands() {
    check(&[
        ("run `cargo test --all`", vec![run("cargo test --all")]),
        ("run cargo test.", vec![run("cargo test")]),
        ("$ ls -la | wc", vec![run("ls -la | wc")]),
        ("!date", vec![run("date")]),
        ("run the command echo hi", vec![run("echo hi")]),
        ("execute \"ls -la\"", vec![run("ls -la")]),
        (
            "run echo \"a b\" > c.txt",
            vec![run("echo \"a b\" > c.txt")],
        ),
        ("run echo $(date)", vec![run("echo $(date)")]),
        ("run (cd src && ls)", vec![run("(cd src && ls)")]),
        (
            r"run find . -exec ls {} \;",
            vec![run(r"find . -exec ls {} \;")],
        ),
        ("run ls ..", vec![run("ls ..")]),
        ("run echo one and two", vec![run("echo one and two")]),
        ("run echo hi. Thank you!", vec![run("echo hi")]),
        (
            "run `echo 'read x'` and tell me the result",
            vec![run("echo 'read x'")],
        ),
    ]);
}

#[test]
fn writes() {
    check(&[
        (
            "write \"hello world\" to notes.txt",
            vec![write("notes.txt", "hello world")],
        ),
        ("write hello to a.txt", vec![write("a.txt", "hello")]),
        (
            "write the text hello world into a.txt",
            vec![write("a.txt", "hello world")],
        ),
        ("save 'x' as src/x.txt", vec![write("src/x.txt", "x")]),
        (
            "put `code` into the file notes",
            vec![write("notes", "code")],
        ),
        (
            "create a file hello.txt with the text Hi there!",
            vec![write("hello.txt", "Hi there!")],
        ),
        (
            "create hello.py with print(\"hi\")",
            vec![write("hello.py", "print(\"hi\")")],
        ),
        (
            "create f.rs containing fn main() { foo(bar()); }",
            vec![write("f.rs", "fn main() { foo(bar()); }")],
        ),
        (
            "write a file called 'my notes' with content \"a\nb\"",
            vec![write("my notes", "a\nb")],
        ),
        (
            "write to a.txt: one, two. Three",
            vec![write("a.txt", "one, two. Three")],
        ),
        ("create an empty file .keep", vec![write(".keep", "")]),
        (
            "create todo.txt with the text buy milk and read a book",
            vec![write("todo.txt", "buy milk and read a book")],
        ),
    ]);
}

#[test]
fn counts() {
    let words = Intent::Count(Measure::Words, select("a.txt", ""));
    let bytes = Intent::Count(Measure::Bytes, select("a.txt", ""));
    let rust_lines = Intent::Count(Measure::Lines, select("", "rs"));
    check(&[
        ("count the lines in README.md", vec![lines("README.md")]),
        (
            "how many lines does README.md have?",
            vec![lines("README.md")],
        ),
        ("How many words are in a.txt", vec![words]),
        ("count the characters in a.txt", vec![bytes]),
        ("how many files are there?", vec![files("", "")]),
        ("count the files in src", vec![files("src", "")]),
        (
            "how many python files are below src/",
            vec![files("src/", "py")],
        ),
        ("count *.rs files", vec![files("", "rs")]),
        ("count the lines of rust code", vec![rust_lines]),
        ("count the lines of code", vec![lines("")]),
        (
            "count the lines in a.txt and b.txt",
            vec![lines("a.txt"), lines("b.txt")],
        ),
    ]);
}

#[test]
fn several_requests_in_one_prompt() {
    check(&[
        (
            "list the files and count the lines in README.md",
            vec![list(""), lines("README.md")],
        ),
        (
            "Read a.txt, then write \"x\" to b.txt and then run `cat b.txt`.",
            vec![read("a.txt"), write("b.txt", "x"), run("cat b.txt")],
        ),
        (
            "read README.md and tell me how many lines it has",
            vec![read("README.md"), lines("README.md")],
        ),
        ("Hello! Please list the files.", vec![list("")]),
        (
            "write hi to a.txt\nread it",
            vec![write("a.txt", "hi"), read("a.txt")],
        ),
        (
            "run ls -la and count the files",
            vec![run("ls -la"), files("", "")],
        ),
    ]);
}

#[test]
fn what_is_not_spelt_out_is_not_done() {
    for prompt in [
        "write a poem",
        "write a poem to poem.txt",
        "write the story to story.txt",
        "create notes.txt",
        "write tests for src/lib.rs",
        "write a function in src/lib.rs",
        "append x to a.txt",
        "run the tests",
        "explain quantum physics",
        "explain rust",
        "what time is it",
        "how are things",
        "count to ten",
        "fix the bug in src/lib.rs",
        "delete everything",
        "read it",
        "run ``",
    ] {
        let expected = Understanding {
            not_understood: true,
            ..Understanding::default()
        };
        assert_eq!(understand(prompt), expected, "{prompt}");
    }
}

#[test]
fn a_part_that_is_not_understood_is_noticed() {
    let understood = understand("list the files and write a poem");
    assert_eq!(understood.intents, [list("")]);
    assert!(understood.not_understood);
}

#[test]
fn help_and_courtesies() {
    for prompt in ["help", "what can you do?", "who are you", "Help me please"] {
        assert!(understand(prompt).asks_for_help, "{prompt}");
        assert!(understand(prompt).intents.is_empty(), "{prompt}");
    }
    for prompt in ["hello", "Hi there!", "thank you", "please", "ok", "", " \n"] {
        assert_eq!(understand(prompt), Understanding::default(), "{prompt}");
    }
}

#[test]
fn paths_are_told_from_words() {
    for path in [
        "a.rs",
        "src/",
        "./x",
        "/",
        "~/.zshrc",
        ".gitignore",
        "README",
        "a-b_c.tar.gz",
        "..",
    ] {
        assert!(looks_like_path(path), "{path}");
    }
    for word in [
        "hello",
        "3.14",
        "e.g",
        "https://a.b/c.html",
        "and/or",
        "a b.c",
        "",
        "v1.2.3",
        "...",
    ] {
        assert!(!looks_like_path(word), "{word}");
    }
}

#[test]
fn a_prompt_too_long_for_the_rules_is_not_understood() {
    let prompt = format!("list the files {}", "x".repeat(16 << 10));
    assert!(understand(&prompt).intents.is_empty());
    assert!(understand(&prompt).not_understood);
}

#[test]
fn no_prompt_breaks_the_rules() {
    let pieces = [
        "run", "write", "to", "a.txt", ":", "'", "\"", "`", "and", "ä", "(", ")", ".", "..", "\n",
        "how", "many", "lines", "it", "with", "", "$", "\\;", "€/ß.x",
    ];
    for first in pieces {
        for second in pieces {
            for third in pieces {
                understand(&format!("{first} {second} {third}"));
                understand(&format!("{first}{second} {third}"));
                understand(&format!("{first}{second}{third}"));
            }
        }
    }
}

#[test]
fn any_tool_can_be_called_with_its_arguments_spelt_out() {
    let call = |tool: &str, arguments: &str| Intent::Call {
        tool: tool.to_owned(),
        arguments: arguments.to_owned(),
    };
    let understood = |prompt: &str| understand(prompt).intents;
    assert_eq!(
        understood(r#"call weather {"city": "Berlin"}"#),
        [call("weather", r#"{"city":"Berlin"}"#)]
    );
    assert_eq!(understood("call ping-pong"), [call("ping-pong", "{}")]);
    for prompt in [
        "call",
        "call {}",
        "call me tomorrow",
        "call weather [1]",
        r#"recall weather {"a": 1}"#,
    ] {
        assert_eq!(understood(prompt), [], "{prompt}");
    }
}
