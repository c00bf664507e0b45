//! `todo`: keys, panels, and a list that survives its process.

use serde_json::{Value, json};

use super::support::{Example, Need, invoke};
use crate::support::Session;

/// Presses a key and returns the lines drawn after it.
fn press(session: &mut Session, key: &str, text: &str) -> Value {
    let command = json!({
        "id": "key", "type": "panel_key", "extension": "todo", "panel_id": "todo",
        "key": key, "text": text,
    });
    assert_eq!(session.zot.call(command)["success"], true);
    session.zot.event("ext_panel")["lines"].clone()
}

#[test]
fn entries_are_added_toggled_deleted_and_kept() {
    let example = Example::new("todo", &[Need::Node]);
    let mut session = example.start();
    let opened = invoke(&mut session, "todo", "");
    assert_eq!(opened["action"], "open_panel");
    assert_eq!(opened["open_panel"]["lines"], json!(["nothing to do"]));

    press(&mut session, "a", "a");
    press(&mut session, "m", "m");
    press(&mut session, "o", "o");
    press(&mut session, "backspace", "");
    press(&mut session, "ü", "ü");
    assert_eq!(press(&mut session, "enter", ""), json!(["> [ ] mü"]));
    let added = invoke(&mut session, "todo", "call Ada");
    assert_eq!(added["open_panel"]["title"], "To do (2 open)");
    assert_eq!(
        press(&mut session, "up", ""),
        json!(["> [ ] mü", "  [ ] call Ada"])
    );
    assert_eq!(
        press(&mut session, "space", " "),
        json!(["> [x] mü", "  [ ] call Ada"])
    );

    let mut session = example.restart(session);
    let opened = invoke(&mut session, "todo", "");
    assert_eq!(
        opened["open_panel"]["lines"],
        json!(["> [x] mü", "  [ ] call Ada"])
    );
    assert_eq!(press(&mut session, "d", "d"), json!(["> [ ] call Ada"]));
    assert_eq!(press(&mut session, "d", "d"), json!(["nothing to do"]));
    session.zot.send(json!({
        "id": "esc", "type": "panel_key", "extension": "todo", "panel_id": "todo", "key": "esc",
    }));
    assert_eq!(session.zot.event("ext_panel_close")["panel_id"], "todo");
    example.end(session);
}
