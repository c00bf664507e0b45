use std::path::{Path, PathBuf};

use super::{STATE_BELOW_HOME, zot_home};

fn home_with(variables: &[(&str, &str)]) -> PathBuf {
    zot_home(&|name| {
        variables
            .iter()
            .find(|(key, _)| *key == name)
            .map(|(_, value)| (*value).to_owned())
    })
}

#[test]
fn zot_home_wins_over_everything() {
    let home = home_with(&[
        ("ZOT_HOME", "/z"),
        ("XDG_STATE_HOME", "/state"),
        ("HOME", "/home/u"),
    ]);
    assert_eq!(home, Path::new("/z"));
}

#[test]
fn xdg_state_home_comes_next() {
    let home = home_with(&[
        ("ZOT_HOME", ""),
        ("XDG_STATE_HOME", "/state"),
        ("HOME", "/home/u"),
    ]);
    assert_eq!(home, Path::new("/state/zot"));
}

#[test]
fn empty_and_relative_xdg_paths_are_ignored() {
    let expected = Path::new("/home/u").join(STATE_BELOW_HOME);
    for state in ["", "relative/state"] {
        assert_eq!(
            home_with(&[("XDG_STATE_HOME", state), ("HOME", "/home/u")]),
            expected
        );
    }
}

#[test]
fn the_user_database_stands_in_for_a_missing_home() {
    assert!(home_with(&[]).ends_with(STATE_BELOW_HOME));
}
