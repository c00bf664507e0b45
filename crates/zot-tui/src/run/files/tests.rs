use super::*;

#[test]
fn top_files_come_first_and_ignored_ones_are_left_out() {
    let directory = tempfile::tempdir().unwrap();
    for path in [
        "b.txt",
        "a/deep/er/c.rs",
        "a/d.rs",
        "target/e.o",
        ".hidden/f",
    ] {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    std::fs::write(directory.path().join(".gitignore"), "target/\n").unwrap();
    let names = |choices: &Choices| -> Vec<String> {
        choices
            .iter()
            .map(|choice| choice.name.to_owned())
            .collect()
    };
    assert_eq!(
        names(&list(directory.path())),
        [
            "b.txt",
            "a/",
            "a/d.rs",
            "a/deep/",
            "a/deep/er/",
            "a/deep/er/c.rs"
        ]
    );
    assert_eq!(
        names(&list_near(directory.path())),
        ["b.txt", "a/", "a/d.rs", "a/deep/"]
    );
}
