use std::path::Path;

use super::{EditorCommand, find};

#[test]
fn an_editor_given_by_name_is_not_looked_for_in_the_working_directory() {
    let found = |editor: &str| find(editor, Path::new("/nonexistent"));
    let shell = zot_process::find_helper("sh", Path::new("/nonexistent")).unwrap();
    for (editor, text) in [("sh", "\"$2\""), ("sh -c 'exit 3'", "\"$2\" -c 'exit 3'")] {
        let program = Some(shell.clone());
        let text = text.to_owned();
        assert_eq!(found(editor).unwrap(), EditorCommand { text, program });
    }
    for editor in [
        "/bin/ed -s",
        "./ed",
        "~/ed",
        "A=1 ed",
        "\"my editor\"",
        "ed;true",
    ] {
        let unchanged = EditorCommand {
            text: editor.to_owned(),
            program: None,
        };
        assert_eq!(found(editor).unwrap(), unchanged);
    }
    // Found only there.
    let directory = shell.canonicalize().unwrap().parent().unwrap().to_owned();
    find("sh", &directory).unwrap_err();
}
