use super::{RENAMED, WITHOUT_COUNTERPART, is_without_counterpart};
use crate::KEYS;

#[test]
fn no_setting_of_ours_is_called_foreign() {
    for key in KEYS {
        assert!(!is_without_counterpart(key.name), "{}", key.name);
    }
    for (original, ours) in RENAMED {
        assert!(KEYS.iter().any(|key| key.name == ours), "{ours}");
        assert!(!WITHOUT_COUNTERPART.contains(&original), "{original}");
    }
}
