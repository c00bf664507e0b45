use std::fs;
use std::path::Path;
use zot_conversation::{ContentBlock, Image};

use super::{
    Attached, MAX_MENTIONED_DIRECTORY_ENTRIES, MAX_MENTIONED_FILE_BYTES, MAX_MENTIONED_TEXT_BYTES,
    MAX_MENTIONS, MentionedResource, Resources, attach, attach_resources, attach_with,
    attached_parts,
};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";

fn place() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir_all(path.join("src/deep")).unwrap();
    for (name, content) in [
        ("a.txt", &b"one\ntwo\n"[..]),
        ("a b.txt", b"no newline"),
        ("fence.md", b"````\ncode\n````\n"),
        ("bin.dat", b"ab\0cd"),
        ("latin.txt", b"caf\xe9"),
        ("pic.txt", PNG),
        ("src/main.rs", b"fn main() {}\n"),
    ] {
        fs::write(path.join(name), content).unwrap();
    }
    directory
}

fn attached(text: &str, cwd: &Path) -> Attached {
    attach(text, cwd, Some(cwd), cwd)
}

#[test]
fn texts_come_marked_and_fenced() {
    let directory = place();
    let text = |prompt: &str| attached(prompt, directory.path()).text;
    assert_eq!(
        text("explain @a.txt."),
        "[a.txt, attached by the user]\n```\none\ntwo\n```"
    );
    assert_eq!(
        text("@\"a b.txt\" and @~/src/main.rs"),
        "[a b.txt, attached by the user]\n```\nno newline\n```\n\n\
         [~/src/main.rs, attached by the user]\n```\nfn main() {}\n```"
    );
    assert!(text("@fence.md").starts_with("[fence.md, attached by the user]\n`````\n````\n"));
}

#[test]
fn directories_are_listed() {
    let directory = place();
    let attached = attached("what is in @src?", directory.path());
    assert_eq!(
        attached.text,
        "[src, a directory attached by the user]\n```\ndeep/\nmain.rs\n```"
    );
}

#[test]
fn images_are_recognised_by_content() {
    let directory = place();
    let attached = attached("@pic.txt", directory.path());
    assert_eq!(attached.text, "[pic.txt: an image, attached by the user]");
    assert_eq!(attached.images[0].mime_type, "image/png");
    assert_eq!(&attached.images[0].data[..], PNG);
}

#[test]
fn the_images_that_models_can_see() {
    for (head, expected) in [
        (PNG, Some("image/png")),
        (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
        (b"GIF89a", Some("image/gif")),
        (b"RIFF\0\0\0\0WEBPVP8 ", Some("image/webp")),
        (b"RIFF\0\0\0\0WAVE", None),
        (b"BM", None),
    ] {
        assert_eq!(Image::mime_type_of(head), expected);
    }
}

#[test]
fn binary_files_are_named_and_not_dumped() {
    let directory = place();
    let attached = attached("@bin.dat @latin.txt", directory.path());
    assert_eq!(
        attached.text,
        "[bin.dat: a binary file of 5 bytes, not attached]\n\n\
         [latin.txt: a binary file of 4 bytes, not attached]"
    );
}

#[test]
fn what_names_nothing_stays_text() {
    let directory = place();
    for prompt in ["ask @ada", "ada@a.txt", "@missing.txt", "@", "no mention"] {
        let attached = attached(prompt, directory.path());
        assert_eq!(
            (attached.text.as_str(), attached.images.len()),
            ("", 0),
            "{prompt}"
        );
        assert!(attached.problems.is_empty());
    }
}

#[test]
fn what_is_there_but_cannot_be_read_is_told() {
    let attached = attached("@/dev/zero", Path::new("/"));
    assert_eq!(
        attached.text,
        "[/dev/zero: not attached, it is a device, expected a regular file]"
    );
    assert_eq!(attached.problems.len(), 1);
}

#[test]
fn lengths_and_counts_are_limited() {
    let directory = place();
    let path = directory.path();
    fs::write(path.join("long"), "é".repeat(MAX_MENTIONED_FILE_BYTES)).unwrap();
    let long = attached("@long", path);
    assert!(
        long.text
            .starts_with("[long, attached by the user: the first 65536 of 131072 bytes")
    );
    assert!(long.text.len() < MAX_MENTIONED_FILE_BYTES + 200);

    let mut prompt = String::new();
    for number in 0..MAX_MENTIONS + 2 {
        let name = format!("n{number}");
        fs::write(path.join(&name), "x".repeat(MAX_MENTIONED_FILE_BYTES / 2)).unwrap();
        prompt.push_str(&format!("@{name} "));
    }
    let many = attached(&prompt, path);
    assert!(many.text.len() < MAX_MENTIONED_TEXT_BYTES + 8 * 1024);
    assert!(many.text.contains("n20: not attached, all files together"));
    assert!(
        many.text
            .ends_with("[n32 and what follows: not attached, 32 are the most]")
    );

    fs::create_dir(path.join("many")).unwrap();
    for number in 0..MAX_MENTIONED_DIRECTORY_ENTRIES + 1 {
        fs::write(path.join(format!("many/{number}")), "").unwrap();
    }
    assert!(
        attached("@many", path)
            .text
            .contains("attached by the user: 500 of 501 entries")
    );
}

#[test]
fn one_thing_is_attached_once() {
    let directory = place();
    let attached = attached("@a.txt and again @a.txt", directory.path());
    assert_eq!(attached.text.matches("one\ntwo").count(), 1);
}

/// What is shown of attachments is what was attached, also when it is read back from a prompt.
#[test]
fn what_became_of_every_mention_is_told_and_read_back() {
    let place = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        std::fs::write(place.path().join(name), content).unwrap();
    };
    write("ends.txt", b"one\ntwo\n");
    write("open.txt", b"one\ntwo");
    write("empty", b"");
    write(
        "a [b].txt",
        b"[x, attached by the user]\n```\n\n[y: an image, attached by the user]",
    );
    write("bin.dat", b"a\0b");
    write("long.txt", &[b'x'; 200_000]);
    write("pic.png", b"\x89PNG\r\n\x1a\n12345678");
    std::fs::create_dir(place.path().join("directory")).unwrap();
    std::fs::create_dir(place.path().join("none")).unwrap();
    write("directory/x", b"");
    write("directory/y", b"");
    let prompt = "see @ends.txt @open.txt @empty @\"a [b].txt\" @bin.dat @long.txt @pic.png @directory \
                  @none and @gone.txt.";
    let attached = super::attach(prompt, place.path(), None, place.path());
    let told: Vec<String> = attached.parts.iter().map(ToString::to_string).collect();
    let read = [
        "empty 0 B",
        "a [b].txt 66 B",
        "bin.dat: a binary file of 3 bytes",
        "long.txt 64.0 KiB of 195.3 KiB",
        "pic.png image",
        "directory 2 entries",
        "none 0 entries",
    ];
    let mut expected = vec!["ends.txt 8 B", "open.txt 7 B"];
    expected.extend(read);
    expected.push("gone.txt: no such file");
    let exact: Vec<String> = told
        .iter()
        .map(|part| part.replace("pic.png image 16 B", "pic.png image"))
        .collect();
    assert_eq!(exact, expected);
    assert!(told.contains(&"pic.png image 16 B".to_owned()), "{told:?}");
    // In the conversation it cannot be seen whether the last line had an end.
    let whole = format!("{prompt}\n\n{}", attached.text);
    let (end, parts) = super::attached_parts(&whole);
    assert_eq!(whole.get(..end), Some(prompt));
    let back: Vec<String> = parts.iter().map(ToString::to_string).collect();
    assert_eq!(back[..2], ["ends.txt 8 B", "open.txt 8 B"]);
    assert_eq!(back[2], "empty 0 B");
    assert!(back[3].starts_with("a [b].txt 6"), "{back:?}");
    assert_eq!(back[4..], read[2..]);
    // Text that only looks like it is text.
    for text in [
        "[a]",
        "see\n\n[note]",
        "x\n\n[a, attached by the user]\nno fence",
    ] {
        assert_eq!(
            super::attached_parts(text),
            (text.len(), Vec::new()),
            "{text}"
        );
    }
}

#[test]
fn a_mistyped_path_is_told_from_other_words_with_an_at_sign() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    fs::create_dir(root.join("src")).unwrap();
    let missing = |text: &str| attach(text, root, None, root).missing;
    for (text, name) in [
        ("see @mian.rs.", "mian.rs"),
        ("see @src/mian", "src/mian"),
        ("see @./mian", "./mian"),
        ("see @/no/such/file", "/no/such/file"),
        ("see @\"a b\"", "a b"),
    ] {
        assert_eq!(missing(text), [name], "{text}");
    }
    for text in [
        "ask @ada",
        "write to ada@example.org",
        "use @angular/core",
        "the @dataclass decorator",
        "@app.route(\"/\") is wrong",
        "@v1.2",
        "@src",
    ] {
        assert_eq!(missing(text), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn resources_of_servers_are_attached_like_files() {
    let directory = tempfile::tempdir().unwrap();
    let mut resources = Resources::default();
    resources.add_server("docs");
    let root = directory.path();
    let text = "compare @docs:memo://first, @docs:memo://first and @docs:memo://gone.";
    let found = attach_with(text, root, None, root, &resources);
    assert_eq!(found.text, "");
    let shown: Vec<String> = found.parts.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        ["docs:memo://first resource", "docs:memo://gone resource"]
    );
    let contents = [
        Ok(vec![ContentBlock::Text("one\ntwo ```".to_owned())]),
        Err("no such\nresource".to_owned()),
    ];
    let read: Vec<_> = found.resources.into_iter().zip(contents).collect();
    let attached = attach_resources(&read);
    assert_eq!(
        attached.text,
        "[docs:memo://first, attached by the user]\n````\none\ntwo ```\n````\n\n\
         [docs:memo://gone: not attached, no such resource]"
    );
    let shown: Vec<String> = attached.parts.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "docs:memo://first 11 B",
            "docs:memo://gone: no such resource"
        ]
    );
    // A resumed conversation shows the same.
    let (end, parts) = attached_parts(&format!("{text}\n\n{}", attached.text));
    assert_eq!(end, text.len());
    assert_eq!(parts[0].name, "docs:memo://first");
    assert_eq!(parts[1], attached.parts[1]);
}

#[test]
fn a_long_resource_is_cut() {
    let resource = MentionedResource {
        server: "docs".to_owned(),
        uri: "memo://long".to_owned(),
    };
    let long = "ä".repeat(MAX_MENTIONED_FILE_BYTES);
    let attached = attach_resources(&[(resource, Ok(vec![ContentBlock::Text(long)]))]);
    assert!(attached.text.len() < MAX_MENTIONED_FILE_BYTES + 200);
    assert!(
        attached.text.starts_with(
            "[docs:memo://long, attached by the user: the first 65536 of 131072 bytes]"
        )
    );
}
