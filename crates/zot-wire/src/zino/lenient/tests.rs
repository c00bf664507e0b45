use serde_json::json;

use super::*;

#[test]
fn truthiness_is_that_of_python() {
    for value in [
        json!(true),
        json!(1),
        json!(-1),
        json!(0.5),
        json!("yes"),
        json!("false"),
        json!("0"),
        json!([0]),
        json!({ "a": 0 }),
    ] {
        assert!(Plain::from(&value).is_true(), "{value}");
    }
    for value in [
        json!(null),
        json!(false),
        json!(0),
        json!(0.0),
        json!(-0.0),
        json!(""),
        json!([]),
        json!({}),
    ] {
        assert!(!Plain::from(&value).is_true(), "{value}");
    }
}

#[test]
fn integers_are_converted_as_in_python() {
    for (value, expected) in [
        (json!(3), 3),
        (json!(-3), -3),
        (json!(2.9), 2),
        (json!(-2.9), -2),
        (json!(true), 1),
        (json!("3"), 3),
        (json!(" +3\n"), 3),
        (json!("-0_7"), -7),
        (json!("1_000"), 1000),
        (json!(u64::MAX), i64::MAX),
        (json!(1e300), i64::MAX),
        (json!("99999999999999999999"), i64::MAX),
        (json!("-99999999999999999999"), i64::MIN),
    ] {
        assert_eq!(Plain::from(&value).integer(), Some(expected), "{value}");
    }
    for value in [
        json!(null),
        json!(""),
        json!(" "),
        json!("x"),
        json!("3.0"),
        json!("1e3"),
        json!("0x10"),
        json!("+-3"),
        json!("_1"),
        json!("1_"),
        json!("1__0"),
        json!([3]),
        json!({}),
    ] {
        assert_eq!(Plain::from(&value).integer(), None, "{value}");
    }
}

#[test]
fn numbers_are_converted_as_in_python() {
    for (value, expected) in [
        (json!(0.5), 0.5),
        (json!(1), 1.0),
        (json!(true), 1.0),
        (json!("0.5"), 0.5),
        (json!(" .5 "), 0.5),
        (json!("5."), 5.0),
        (json!("1e-1"), 0.1),
        (json!("1_0.5"), 10.5),
    ] {
        assert_eq!(Plain::from(&value).number(), Some(expected), "{value}");
    }
    for value in [
        json!(null),
        json!(""),
        json!("hot"),
        json!("nan"),
        json!("inf"),
        json!("1e999"),
        json!("1._5"),
        json!([]),
    ] {
        assert_eq!(Plain::from(&value).number(), None, "{value}");
    }
}

#[test]
fn values_are_formatted_as_in_python() {
    for (value, expected) in [
        (json!(null), "None"),
        (json!(true), "True"),
        (json!(5), "5"),
        (json!(5.0), "5.0"),
        (json!("x"), "x"),
    ] {
        assert_eq!(Plain::from(&value).shown().as_deref(), Some(expected));
    }
    assert_eq!(Plain::from(&json!([1])).shown(), None);
}
