use bytes::Bytes;
use zot_conversation::Image;

use super::*;

#[test]
fn a_short_result_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::new(directory.path().join("results"));
    let blocks = vec![ContentBlock::Text("x".repeat(MAX_MCP_RESULT_BYTES - 1))];
    assert_eq!(results.fit(blocks.clone()), blocks);
    assert!(!results.directory().exists());
}

#[test]
fn a_long_result_is_in_a_file_of_the_owner_and_images_stay() {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::new(directory.path().join("results"));
    let image = ContentBlock::Image(Image {
        mime_type: "image/png".to_owned(),
        data: Bytes::new(),
    });
    // Cut within characters of two bytes.
    let long = "ä".repeat(40_000);
    let blocks = results.fit(vec![
        ContentBlock::Text(long.clone()),
        image.clone(),
        ContentBlock::Text("the end".to_owned()),
    ]);
    assert_eq!(blocks.len(), 2);
    assert_eq!(blocks[1], image);
    let ContentBlock::Text(text) = &blocks[0] else {
        panic!("{blocks:?}");
    };
    assert!(text.len() < 21 * 1024);
    assert!(text.ends_with("the end"));
    let files = files(results.directory());
    assert_eq!(files.len(), 1);
    let (path, _, _) = &files[0];
    assert!(text.contains(&format!("in {}]", path.display())));
    assert_eq!(
        fs::read_to_string(path).unwrap(),
        format!("{long}\nthe end")
    );
    let mode = std::os::unix::fs::PermissionsExt::mode(&fs::metadata(path).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn old_files_make_room() {
    let directory = tempfile::tempdir().unwrap();
    let results = Results::new(directory.path().to_owned());
    for number in 0..MAX_RESULT_FILES + 20 {
        results.keep_bytes(format!("{number}").as_bytes(), "txt");
    }
    let kept = files(directory.path());
    assert_eq!(kept.len(), MAX_RESULT_FILES);
    let newest = (MAX_RESULT_FILES + 19).to_string();
    let has_newest =
        |(path, _, _): &(PathBuf, u64, SystemTime)| fs::read_to_string(path).unwrap() == newest;
    assert!(kept.iter().any(has_newest));
}
