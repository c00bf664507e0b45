use super::*;

#[test]
fn dropped_paths_become_mentions() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory.path().join("work");
    std::fs::create_dir_all(&cwd).unwrap();
    for name in ["work/in.png", "out.JPG", "a b.png", "text.txt"] {
        std::fs::write(directory.path().join(name), "x").unwrap();
    }
    let root = directory.path().display().to_string();
    let check = |pasted: String| mentions(&pasted, &cwd, Some(directory.path()));
    let outside = Some(format!("@{root}/out.JPG "));
    let quoted = Some(format!("@\"{root}/a b.png\" "));
    assert_eq!(check("in.png".to_owned()), Some("@in.png ".to_owned()));
    assert_eq!(
        check(format!("{root}/work/in.png\n")),
        Some("@in.png ".to_owned())
    );
    assert_eq!(check(format!("{root}/out.JPG")), outside);
    assert_eq!(check("~/out.JPG".to_owned()), outside);
    assert_eq!(check(format!("'{root}/a b.png'")), quoted);
    assert_eq!(check(format!("{root}/a\\ b.png")), quoted);
    assert_eq!(check(format!("file://{root}/a%20b.png")), quoted);
    assert_eq!(
        check(format!("{root}/text.txt")),
        Some(format!("@{root}/text.txt "))
    );
    assert_eq!(check(format!("{root}/a b.png")), quoted);
    let directory_path = Some(format!("@{root} "));
    assert_eq!(check(root.clone()), directory_path);
    assert_eq!(
        check(format!(
            "'{root}/a b.png' {root}/out.JPG\nfile://localhost{root}/text.txt "
        )),
        Some(format!(
            "@\"{root}/a b.png\" @{root}/out.JPG @{root}/text.txt "
        ))
    );
    // Text that happens to name a file, and text without a path.
    assert_eq!(check("../text.txt".to_owned()), None);
    assert_eq!(check("/".to_owned()), None);
    assert_eq!(check("it's here".to_owned()), None);
    assert_eq!(check(format!("{root}/out.JPG {root}/none")), None);
    assert_eq!(check(format!("{root}/none.png")), None);
    assert_eq!(check(format!("see {root}/out.JPG")), None);
    assert_eq!(
        check("in.png\nin.png".to_owned()),
        Some("@in.png @in.png ".to_owned())
    );
}
