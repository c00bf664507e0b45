use super::*;

#[test]
fn every_choice_is_returned_unchanged() {
    let given = [
        ("/help", "lists commands and keys"),
        ("", ""),
        ("naïve.rs", ""),
        ("/x", "日本"),
    ];
    let choices: Choices = given.into_iter().collect();
    let returned: Vec<_> = choices
        .iter()
        .map(|choice| (choice.name, choice.description))
        .collect();
    assert_eq!(returned, given);
    assert_eq!((choices.len(), choices.get(4)), (4, None));
    assert_eq!(Choices::default().len(), 0);
}
