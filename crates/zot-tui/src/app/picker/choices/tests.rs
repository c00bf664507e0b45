use super::*;

#[test]
fn every_choice_comes_back_as_it_was() {
    let given = [
        ("/help", "says what there is"),
        ("", ""),
        ("naïve.rs", ""),
        ("/x", "日本"),
    ];
    let choices: Choices = given.into_iter().collect();
    let kept: Vec<_> = choices
        .iter()
        .map(|choice| (choice.name, choice.description))
        .collect();
    assert_eq!(kept, given);
    assert_eq!((choices.len(), choices.get(4)), (4, None));
    assert_eq!(Choices::default().len(), 0);
}
