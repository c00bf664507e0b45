use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{Access, PAGE_BYTES, SEPARATOR, Shape, create, lock, normalise, unfinished};
use crate::memory::element::Elements;

#[test]
fn a_file_cut_anywhere_is_repaired() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.json");
    let values = [
        json!({ "role": "user", "content": "a\nb]" }),
        json!([1, [2]]),
        json!("x"),
    ];
    assert!(create(&path, &Elements::of(&values)).unwrap());
    assert!(!create(&path, &Elements::of(["other"])).unwrap());
    let text = fs::read(&path).unwrap();
    // Not at every byte: each repair waits for the file to settle.
    for cut in (0..text.len()).step_by(9) {
        fs::write(&path, &text[..cut]).unwrap();
        normalise(&path).unwrap();
        let repaired: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(repaired[..], values[..repaired.len()], "{cut}");
        let kept = fs::read(directory.path().join(".a.json.torn")).unwrap();
        assert_eq!(kept, &text[..cut]);
    }
    let left: Vec<_> = fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 2, "{left:?}");
}

#[test]
fn a_file_that_is_not_an_array_is_not_touched() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.json");
    fs::write(&path, "{\"a\": 1}").unwrap();
    assert!(normalise(&path).is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\": 1}");
}

#[test]
fn the_last_elements_are_read_backwards() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.json");
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

/// Creates a file of one and a half pages, and returns its elements and those to append.
fn before_an_append(path: &std::path::Path) -> (Vec<Value>, Elements) {
    let old: Vec<Value> = (0..60)
        .map(|number| json!({ "role": "user", "content": format!("{number} {}", "x".repeat(60)) }))
        .collect();
    create(path, &Elements::of(&old)).unwrap();
    let exchange = [
        json!({ "role": "user", "content": "u".repeat(5000) }),
        json!({ "role": "assistant", "content": "a".repeat(5000) }),
    ];
    (old, Elements::of(exchange))
}

/// An append that was never acknowledged is dropped entirely; everything before it stays.
#[test]
fn half_an_exchange_is_dropped() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.json");
    let note = directory.path().join(".a.json.append");
    let mut halves = 0;
    for pages in 1..4 {
        let _ = fs::remove_file(&path);
        let (old, elements) = before_an_append(&path);
        let locked = lock(&path, Access::Append).unwrap().unwrap();
        let found = locked.inspect(None, &mut |_, _| {}).unwrap();
        let bytes = elements.closed(SEPARATOR);
        unfinished::announce(&locked, found.whole_end, &bytes);
        // Cut at the end of a page, as the kernel would.
        let end = (found.whole_end / PAGE_BYTES + pages) * PAGE_BYTES;
        let cut = (end - found.whole_end).min(bytes.len() as u64 - 1) as usize;
        locked.write_at(&bytes[..cut], found.whole_end).unwrap();
        let torn = locked.inspect(None, &mut |_, _| {}).unwrap();
        assert_eq!(torn.shape, Shape::Torn);
        halves += torn.count - found.count;
        drop(locked);
        normalise(&path).unwrap();
        let repaired: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(repaired, old, "{pages}");
        assert!(!note.exists());
    }
    assert!(halves > 0);
}

/// An unrelated note is ignored: all whole elements are kept.
#[test]
fn only_the_announced_append_is_dropped() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.json");
    for stale in [
        "",
        "7",
        "x y\n",
        "10 2\nab",
        "99999999 5\nabcde",
        "10 99999\nabc",
    ] {
        let _ = fs::remove_file(&path);
        let (old, elements) = before_an_append(&path);
        let whole = fs::read(&path).unwrap();
        let whole = &whole[..whole.len() - 2];
        let torn = [whole, SEPARATOR, &elements.bytes()[..6000]].concat();
        fs::write(&path, torn).unwrap();
        fs::write(directory.path().join(".a.json.append"), stale).unwrap();
        normalise(&path).unwrap();
        let repaired: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        assert_eq!(repaired.len(), old.len() + 1, "{stale}");
    }
}

/// A write to a long file leaves nothing beside it.
#[test]
fn the_note_is_removed_after_the_append() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("a.json");
    create(&path, &Elements::of(["x".repeat(200_000)])).unwrap();
    let locked = lock(&path, Access::Append).unwrap().unwrap();
    let found = locked.inspect(None, &mut |_, _| {}).unwrap();
    locked
        .append(&found, &Elements::of(["y".repeat(10_000)]))
        .unwrap();
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    let values: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(values.len(), 2);
}
