use super::*;

#[test]
fn dropped_paths_become_mentions() {
    let directory = tempfile::tempdir().unwrap();
    let cwd = directory.path().join("work");
    std::fs::create_dir_all(&cwd).unwrap();
    for name in ["work/in.png", "out.JPG", "a b.png", "text.txt"] {
        std::fs::write(directory.path().join(name), "x").unwrap();
    }
    let place = directory.path().display().to_string();
    let check = |pasted: String| mentions(&pasted, &cwd, Some(directory.path()));
    let outside = Some(format!("@{place}/out.JPG "));
    let quoted = Some(format!("@\"{place}/a b.png\" "));
    assert_eq!(check("in.png".to_owned()), Some("@in.png ".to_owned()));
    assert_eq!(
        check(format!("{place}/work/in.png\n")),
        Some("@in.png ".to_owned())
    );
    assert_eq!(check(format!("{place}/out.JPG")), outside);
    assert_eq!(check("~/out.JPG".to_owned()), outside);
    assert_eq!(check(format!("'{place}/a b.png'")), quoted);
    assert_eq!(check(format!("{place}/a\\ b.png")), quoted);
    assert_eq!(check(format!("file://{place}/a%20b.png")), quoted);
    assert_eq!(
        check(format!("{place}/text.txt")),
        Some(format!("@{place}/text.txt "))
    );
    assert_eq!(check(format!("{place}/a b.png")), quoted);
    let directory_path = Some(format!("@{place} "));
    assert_eq!(check(place.clone()), directory_path);
    assert_eq!(
        check(format!(
            "'{place}/a b.png' {place}/out.JPG\nfile://localhost{place}/text.txt "
        )),
        Some(format!(
            "@\"{place}/a b.png\" @{place}/out.JPG @{place}/text.txt "
        ))
    );
    // Text that happens to name a file, and text without a path.
    assert_eq!(check("../text.txt".to_owned()), None);
    assert_eq!(check("/".to_owned()), None);
    assert_eq!(check("it's here".to_owned()), None);
    assert_eq!(check(format!("{place}/out.JPG {place}/none")), None);
    assert_eq!(check(format!("{place}/none.png")), None);
    assert_eq!(check(format!("see {place}/out.JPG")), None);
    assert_eq!(
        check("in.png\nin.png".to_owned()),
        Some("@in.png @in.png ".to_owned())
    );
}
