use super::{RENAMED, WITHOUT_COUNTERPART, is_without_counterpart};
use crate::KEYS;

#[test]
fn our_settings_are_not_listed_as_foreign() {
    for key in KEYS {
        assert!(!is_without_counterpart(key.name), "{}", key.name);
    }
    for (original, ours) in RENAMED {
        assert!(KEYS.iter().any(|key| key.name == ours), "{ours}");
        assert!(!WITHOUT_COUNTERPART.contains(&original), "{original}");
    }
}
