use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Access, Shape, create, lock, normalise};
use crate::memory::element::{Elements, Message};

#[test]
fn cut_anywhere_it_is_mended() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.json");
    let values = [
        json!({ "role": "user", "content": "a\nb]" }),
        json!([1, [2]]),
        json!("x"),
    ];
    assert!(create(&path, &Elements::of(values.iter().map(Message))).unwrap());
    assert!(!create(&path, &Elements::of(["other"])).unwrap());
    let text = fs::read(&path).unwrap();
    // The wait for a file to settle makes every byte too many.
    for cut in (0..text.len()).step_by(9) {
        fs::write(&path, &text[..cut]).unwrap();
        normalise(&path).unwrap();
        let mended: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(mended[..], values[..mended.len()], "{cut}");
        let kept = fs::read(folder.path().join(".a.json.torn")).unwrap();
        assert_eq!(kept, &text[..cut]);
    }
    let left: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn what_is_no_array_is_not_touched() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.json");
    fs::write(&path, "{\"a\": 1}").unwrap();
    assert!(normalise(&path).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");
}

#[test]
fn the_last_are_read_from_behind() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a.json");
    let values: Vec<Value> = (0..3000)
        .map(|number| match number % 4 {
            0 => json!(number),
            1 => json!({ "content": "  \n  x".repeat(number % 50), "list": [[], { "a": [1] }] }),
            2 => json!("[\n  1,\n  2\n]"),
            _ => json!([number, []]),
        })
        .collect();
    create(&path, &Elements::of(&values)).unwrap();
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        serde_json::to_string_pretty(&values).unwrap()
    );
    let locked = lock(&path, Access::Read).unwrap().unwrap();
    let found = locked.inspect(None, &mut |_, _| {}).unwrap();
    assert_eq!((found.shape, found.count), (Shape::Canonical, 3000));
    for wanted in [1, 2, 50, 2999, 3000, 4000] {
        let last = locked.last(found.whole_end, wanted).unwrap();
        let last: Vec<Value> = last
            .iter()
            .map(|bytes| serde_json::from_slice(bytes).unwrap())
            .collect();
        assert_eq!(last, values[3000 - wanted.min(3000)..]);
    }
}
