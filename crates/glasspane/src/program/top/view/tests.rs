use super::{After, Key, Sort, View};
use crate::{AgentState, Status, Usage};

fn agent(label: &str, status: Status, input_tokens: u64) -> AgentState {
    AgentState {
        label: label.to_owned(),
        source: "zot".to_owned(),
        status,
        usage: Usage {
            input_tokens,
            ..Usage::default()
        },
        ..AgentState::default()
    }
}

fn agents() -> Vec<AgentState> {
    vec![
        agent("beta", Status::Done, 5),
        agent("alpha", Status::WaitingForApproval, 1),
        agent("gamma", Status::Failed, 9),
    ]
}

fn shown(view: &View) -> Vec<String> {
    let agents = agents();
    let chosen = view.select(&agents).into_iter();
    chosen.map(|agent| agent.label.clone()).collect()
}

fn press(view: &mut View, text: &str) {
    for character in text.chars() {
        assert_eq!(view.press(Key::Character(character)), After::Stay);
    }
}

#[test]
fn sorting() {
    let mut view = View::default();
    assert_eq!(shown(&view), ["beta", "alpha", "gamma"]);
    press(&mut view, "s");
    assert_eq!(
        (view.sort, shown(&view)),
        (
            Sort::Urgency,
            vec!["alpha".into(), "gamma".into(), "beta".into()]
        )
    );
    press(&mut view, "s");
    assert_eq!(shown(&view), ["alpha", "beta", "gamma"]);
    press(&mut view, "sr");
    assert_eq!(shown(&view), ["alpha", "beta", "gamma"]);
    press(&mut view, "r");
    assert_eq!(shown(&view), ["gamma", "beta", "alpha"]);
}

#[test]
fn filtering() {
    let mut view = View::default();
    press(&mut view, "/APPROVq");
    assert_eq!(shown(&view), Vec::<String>::new());
    view.press(Key::Backspace);
    view.press(Key::Enter);
    assert_eq!(shown(&view), ["alpha"]);
    view.press(Key::Escape);
    press(&mut view, "d");
    assert_eq!(shown(&view), ["alpha", "gamma"]);
    assert_eq!(view.press(Key::Character('q')), After::Quit);
}
