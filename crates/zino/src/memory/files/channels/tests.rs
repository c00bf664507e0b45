use std::fs;
use std::path::Path;

use tempfile::TempDir;
use zot_wire::zino::Message;

use super::Channels;
use crate::memory::files::directory::Directory;

fn channels(directory: &Path) -> Channels {
    Channels::new(Directory::new(directory.to_owned()))
}

fn user_message(text: &str) -> Message {
    Message::new("user", text)
}

fn texts(channels: &Channels, id: &str) -> Vec<String> {
    let history = channels.history(id, None).unwrap();
    history
        .iter()
        .map(|message| message.text().unwrap().to_owned())
        .collect()
}

fn files(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn ids_that_would_share_a_file_do_not() {
    let directory = TempDir::new().unwrap();
    let long = "x".repeat(300);
    let ids = [
        "a/b", "a_b", "a:b", "../a/b", "..", ".", "é", "ü", "c1", "C1", " ", &long, "a_b-",
        "___a_b",
    ];
    for round in 0..2 {
        // Each round acts as a new process.
        let channels = channels(directory.path());
        for id in ids {
            channels
                .append(id, &[user_message(&format!("{id} {round}"))])
                .unwrap();
        }
    }
    let channels = channels(directory.path());
    for id in ids {
        assert_eq!(texts(&channels, id), [format!("{id} 0"), format!("{id} 1")]);
    }
    let names = files(directory.path());
    assert_eq!(names.len(), ids.len(), "{names:?}");
    for exact in ["a_b.json", "c1.json", "C1.json", "a_b-.json", "___a_b.json"] {
        assert!(names.contains(&exact.to_owned()), "{names:?}");
        let text = fs::read_to_string(directory.path().join(exact)).unwrap();
        assert!(text.contains(&format!("\"{} 0\"", exact.strip_suffix(".json").unwrap())));
    }
    let mut listed: Vec<_> = channels
        .list()
        .unwrap()
        .into_iter()
        .map(|listed| listed.channel_id)
        .collect();
    let mut expected = ids.map(str::to_owned).to_vec();
    listed.sort();
    expected.sort();
    assert_eq!(listed, expected);
}

#[test]
fn the_originals_files_are_found() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("___e_vil___1.json");
    fs::write(
        &file,
        "[\n  {\n    \"role\": \"user\",\n    \"content\": \"x\"\n  }\n]",
    )
    .unwrap();
    let channels = channels(directory.path());
    assert_eq!(
        texts(&channels, "../e/vil: 1"),
        Vec::<String>::new(),
        "another name"
    );
    assert_eq!(texts(&channels, "../e/vil...1"), ["x"]);
    // The file belongs to the channel that asked first.
    assert_eq!(texts(&channels, "../e/vil///1"), Vec::<String>::new());
    channels
        .append("../e/vil///1", &[user_message("y")])
        .unwrap();
    channels
        .append("../e/vil...1", &[user_message("z")])
        .unwrap();
    assert_eq!(texts(&channels, "../e/vil...1"), ["x", "z"]);
    assert_eq!(texts(&channels, "../e/vil///1"), ["y"]);
    channels.clear("../e/vil...1").unwrap();
    assert_eq!(texts(&channels, "../e/vil...1"), Vec::<String>::new());
    assert_eq!(texts(&channels, "../e/vil///1"), ["y"]);
    assert!(!file.exists());
}

#[test]
fn a_lost_list_loses_no_history() {
    let directory = TempDir::new().unwrap();
    let one = channels(directory.path());
    one.append("a_b", &[user_message("plain")]).unwrap();
    one.append("a/b", &[user_message("other")]).unwrap();
    fs::remove_file(directory.path().join(".ids.jsonl")).unwrap();
    let two = channels(directory.path());
    assert_eq!(texts(&two, "a/b"), ["other"]);
    assert_eq!(texts(&two, "a_b"), ["plain"]);
}

#[test]
fn other_programs_may_change_a_file() {
    let directory = TempDir::new().unwrap();
    let channels = channels(directory.path());
    channels
        .append("c", &[user_message("1"), user_message("2")])
        .unwrap();
    let file = directory.path().join("c.json");
    let mut messages: Vec<Message> = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    messages.push(user_message("3"));
    // First as the original writes it, then as a person might.
    fs::write(&file, serde_json::to_string_pretty(&messages).unwrap()).unwrap();
    channels.append("c", &[user_message("4")]).unwrap();
    assert_eq!(texts(&channels, "c"), ["1", "2", "3", "4"]);
    let text = fs::read_to_string(&file).unwrap();
    fs::write(
        &file,
        text.replace("\n  ", "\n").replace("\"4\"", "\"four\"") + "\n\n",
    )
    .unwrap();
    let last = channels.history("c", Some(1)).unwrap();
    assert_eq!(last, [user_message("four")]);
    channels.append("c", &[user_message("5")]).unwrap();
    assert_eq!(texts(&channels, "c"), ["1", "2", "3", "four", "5"]);
    fs::write(&file, "[]").unwrap();
    assert_eq!(texts(&channels, "c"), Vec::<String>::new());
    channels.append("c", &[user_message("6")]).unwrap();
    assert_eq!(texts(&channels, "c"), ["6"]);
    assert_eq!(channels.history("c", Some(5)).unwrap(), [user_message("6")]);
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .starts_with("[\n  {\n    \"role\": \"user\",\n")
    );
}
