use super::{After, Key, Sort, View};
use crate::{AgentState, PendingApproval, RunningTool, Status, Usage};

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
    let chosen = view.select(&agents, 0).into_iter();
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
    assert_eq!(
        (view.sort, shown(&view)),
        (
            Sort::Attention,
            vec!["alpha".into(), "gamma".into(), "beta".into()]
        )
    );
    press(&mut view, "s");
    assert_eq!(shown(&view), ["beta", "alpha", "gamma"]);
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

#[test]
fn a_filter_searches_all_its_words_in_everything_known() {
    let agent = AgentState {
        label: "builder".to_owned(),
        source: "pi".to_owned(),
        model: Some("opus".to_owned()),
        prompt: "Mend the Parser".to_owned(),
        last_text: "Two call sites are left.".to_owned(),
        tool_text: "grep pattern lookahead src/lexer.rs:88\n".to_owned(),
        status: Status::WaitingForApproval,
        running: vec![RunningTool {
            name: "bash".to_owned(),
            arguments: r#"{"command":"echo \"quoted\""}"#.to_owned(),
            ..RunningTool::default()
        }],
        approvals: vec![PendingApproval {
            name: "edit".to_owned(),
            summary: "notes.txt".to_owned(),
            message: Some("-milk +oat".to_owned()),
            ..PendingApproval::default()
        }],
        ..AgentState::default()
    };
    for (filter, fits) in [
        ("builder OPUS pi", true),
        ("parser sites", true),
        ("lookahead LEXER.rs", true),
        ("\"quoted\" notes.txt +oat", true),
        ("waiting approval", true),
        ("builder nothing", false),
    ] {
        let view = View {
            filter: filter.to_owned(),
            ..View::default()
        };
        let agents = [agent.clone()];
        assert_eq!(view.select(&agents, 0).len() == 1, fits, "{filter}");
    }
}
