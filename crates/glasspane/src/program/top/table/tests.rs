use super::{Size, table};
use crate::program::top::view::View;
use crate::program::width;
use crate::{AgentState, Status, Usage};

fn agents() -> Vec<AgentState> {
    vec![
        AgentState {
            label: "tests".to_owned(),
            source: "zot".to_owned(),
            status: Status::RunningTool,
            tools_running: vec!["read".to_owned(), "bash".to_owned()],
            since_ms: 1_000,
            turns: 3,
            tools: 7,
            usage: Usage {
                input_tokens: 12_000,
                output_tokens: 345,
                cost_usd: 0.0123,
                ..Usage::default()
            },
            last_text: "first\n\u{1b}[2Jrunning".to_owned(),
            ..AgentState::default()
        },
        AgentState {
            label: "日本語のとても長い名前です".to_owned(),
            source: "claude-code".to_owned(),
            status: Status::Failed,
            error: Some("http 401".to_owned()),
            errors: 1,
            ..AgentState::default()
        },
    ]
}

#[test]
fn the_whole_table() {
    let size = Size {
        columns: 120,
        rows: usize::MAX,
    };
    let lines = table(&agents(), &View::default(), 76_000, size, false);
    let expected = [
        "2 agents  1 working  0 waiting for approval  0 done  1 failed  12.3k tokens  $0.0123",
        "AGENT               SOURCE       STATUS                     FOR  TURNS  TOOLS    ERR   TOKENS       COST  LAST",
        "tests               zot          running bash +1           1m15      3      7      0    12.3k    $0.0123  \u{fffd}[2Jrunning",
        "日本語のとても長…   claude-code  failed                    1m16      0      0      1        0          –  http 401",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn it_fits_whatever_the_size() {
    let agents: Vec<_> = agents().into_iter().cycle().take(50).collect();
    let mut view = View::default();
    for (columns, rows) in [(80, 24), (40, 10), (10, 3), (1, 1), (200, 60)] {
        for scroll in [0, 7, 1000] {
            view.scroll = scroll;
            let lines = table(&agents, &view, 0, Size { columns, rows }, false);
            assert!(lines.len() <= rows, "{} lines of {rows}", lines.len());
            for line in &lines {
                assert!(width(line) <= columns, "{line:?} in {columns}");
            }
        }
    }
}

#[test]
fn color_only_when_asked() {
    let size = Size {
        columns: 80,
        rows: 24,
    };
    let plain = table(&agents(), &View::default(), 0, size, false);
    assert!(plain.iter().all(|line| !line.contains('\x1b')));
    let colored = table(&agents(), &View::default(), 0, size, true);
    assert!(colored[3].starts_with("\x1b[31m"), "{:?}", colored[3]);
}
