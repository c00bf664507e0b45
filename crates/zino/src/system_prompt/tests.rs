use super::*;

#[test]
fn placeholders_are_filled_once() {
    let values = [("%%A%%", "[%%B%%]"), ("%%B%%", "b")];
    assert_eq!(
        fill("x %%A%% %%B%% %%C%% 100%% %", &values),
        "x [%%B%%] b %%C%% 100%% %"
    );
    assert_eq!(fill("%%%A%%", &values), "%[%%B%%]");
}
