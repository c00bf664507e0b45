use proptest::prelude::*;

use super::{Scanner, Shape};

fn scan(text: &str, pieces: usize) -> (Shape, Vec<String>, u64) {
    let mut scanner = Scanner::new();
    let mut elements = Vec::new();
    for chunk in text.as_bytes().chunks(pieces.max(1)) {
        scanner.feed(chunk, &mut |start, bytes| {
            let end = start as usize + bytes.len();
            assert_eq!(&text.as_bytes()[start as usize..end], bytes);
            elements.push(String::from_utf8(bytes.to_vec()).unwrap());
        });
    }
    (scanner.shape(), elements, scanner.whole_end())
}

#[test]
fn shapes() {
    let check = |text: &str, shape: Shape, elements: &[&str]| {
        for pieces in [1, 3, 1000] {
            let (found, list, _) = scan(text, pieces);
            assert_eq!(
                (found, list),
                (shape, elements.iter().map(ToString::to_string).collect())
            );
        }
    };
    check("[]", Shape::Canonical, &[]);
    check("[]\n", Shape::Whole, &[]);
    check("", Shape::Torn, &[]);
    check("{}", Shape::NotAnArray, &[]);
    check("[\n  1\n]", Shape::Canonical, &["1"]);
    check(
        "[\n  1,\n  \"a]\\\"\"\n]",
        Shape::Canonical,
        &["1", "\"a]\\\"\""],
    );
    check(
        "[\n  {\n    \"a\": []\n  }\n]",
        Shape::Canonical,
        &["{\n    \"a\": []\n  }"],
    );
    check("[\n  [\n  1\n  ]\n]", Shape::Whole, &["[\n  1\n  ]"]);
    check(
        "[1,{\"x\":[2]} ,3]",
        Shape::Whole,
        &["1", "{\"x\":[2]}", "3"],
    );
    check("[\n  1,\n  2", Shape::Torn, &["1"]);
    check("[\n  1,]", Shape::Torn, &["1"]);
    check("[\n  1\n],\n  {\"", Shape::Torn, &["1"]);
}

proptest! {
    #[test]
    fn a_prefix_keeps_its_whole_elements(values in prop::collection::vec("[a-z\"\\\\,\\[\\]{}\n é]{0,8}", 0..6), cut in 0usize..200) {
        let text = serde_json::to_string_pretty(&values).unwrap();
        let (shape, elements, _) = scan(&text, 7);
        prop_assert_eq!(shape, Shape::Canonical);
        prop_assert_eq!(elements.len(), values.len());
        let mut cut = cut.min(text.len());
        while !text.is_char_boundary(cut) { cut -= 1; }
        let (_, whole, end) = scan(&text[..cut], 5);
        let closed = if whole.is_empty() { "[]".to_owned() } else { format!("{}\n]", &text[..end as usize]) };
        let parsed: Vec<String> = serde_json::from_str(&closed).unwrap();
        prop_assert_eq!(&parsed[..], &values[..whole.len()]);
    }
}
