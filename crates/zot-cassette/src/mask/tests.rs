use super::{Mask, same_text};

#[test]
fn the_day_and_the_place_do_not_count() {
    let one = "Be good.\nWorking directory: /home/ann/project\nCurrent date: 2026-01-01\n\nMore";
    let other = "Be good.\nWorking directory: /ci/build\nCurrent date: 2027-12-31\n\nMore";
    assert_eq!(Mask::of(one).system(one), Mask::of(other).system(other));
    assert_eq!(
        Mask::of(one).text("see /home/ann/project/a.txt"),
        Mask::of(other).text("see /ci/build/a.txt")
    );
    let prompt = |path: &str| {
        format!("Be good.\n\nCurrent date: 2026-01-01\nCurrent working directory: {path}")
    };
    let (now, then) = (prompt("/a/b"), prompt("/c"));
    assert_eq!(Mask::of(&now).system(&now), Mask::of(&then).system(&then));
    let different = other.replace("More", "Less");
    assert_ne!(
        Mask::of(one).system(one),
        Mask::of(&different).system(&different)
    );
}

#[test]
fn durations_and_logs_do_not_count() {
    let mask = Mask::default();
    assert_eq!(
        mask.text("$ x\n\n[exit 0]  Took 0.1s  (timed out after 3s)"),
        mask.text("$ x\n\n[exit 0]  Took 12.0s  (timed out after 3s)")
    );
    assert_ne!(mask.text("Took one"), mask.text("Took two"));
    assert_eq!(
        mask.text("... [1 lines left out; full output: /tmp/a/zot-bash-0af1.log]\nend"),
        mask.text("... [1 lines left out; full output: /var/tmp/zot-bash-77.log]\nend")
    );
    assert_eq!(mask.text("zot-bash- no log"), "zot-bash- no log");
    assert_eq!(mask.text("nothing"), "nothing");
}

#[test]
fn a_secret_stands_for_any_text() {
    for now in ["key sk-1 end", "key [redacted] end", "key  end"] {
        assert!(same_text("key [redacted] end", now), "{now}");
    }
    assert!(same_text("[redacted] and [redacted]", "a and b and c"));
    assert!(same_text("[redacted]", "anything"));
    assert!(!same_text("key [redacted] end", "key sk-1"));
    assert!(!same_text("a [redacted] b [redacted] c", "a x c"));
    assert!(!same_text("plain", "plane"));
}
