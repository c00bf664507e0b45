use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::{PathError, PathResolver};

#[test]
fn resolves_against_the_working_directory_and_home() {
    let resolver = PathResolver::new("/work/dir", Some(PathBuf::from("/home/me")));
    for (requested, expected) in [
        ("a.txt", "/work/dir/a.txt"),
        ("./a.txt", "/work/dir/a.txt"),
        ("../", "/work"),
        ("../../../../x", "/x"),
        ("missing/../a.txt", "/work/dir/a.txt"),
        ("sub//b/", "/work/dir/sub/b"),
        ("/etc/./hosts", "/etc/hosts"),
        ("/", "/"),
        ("~", "/home/me"),
        ("~/x", "/home/me/x"),
        ("~//x", "/home/me/x"),
        ("./~", "/work/dir/~"),
        ("~other/x", "/work/dir/~other/x"),
        ("a~", "/work/dir/a~"),
        (" ", "/work/dir/ "),
    ] {
        assert_eq!(
            resolver.resolve(requested).unwrap(),
            Path::new(expected),
            "{requested}"
        );
    }
    assert!(matches!(resolver.resolve(""), Err(PathError::Missing)));
    assert!(matches!(
        resolver.resolve("a\0b"),
        Err(PathError::ContainsNul)
    ));
    let homeless = PathResolver::new("/w", None);
    assert_eq!(homeless.resolve("~/x").unwrap(), Path::new("/w/~/x"));
}

#[test]
fn parent_of_a_link_is_the_parent_of_its_target() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("far/deep")).unwrap();
    symlink(root.join("far/deep"), root.join("link")).unwrap();
    let resolver = PathResolver::new(&root, None);
    assert_eq!(
        resolver.resolve("link/../x").unwrap(),
        root.join("far/x"),
        "as the system resolves it"
    );
    assert_eq!(resolver.resolve("link/x").unwrap(), root.join("link/x"));
}
