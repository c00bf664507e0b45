use super::{Size, table};
use crate::program::top::view::View;
use crate::program::width;
use crate::{AgentState, PendingApproval, RunningTool, Status, Usage};

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
        columns: 160,
        rows: usize::MAX,
    };
    let lines = table(&agents(), &View::default(), 76_000, size, false);
    let expected = [
        "2 agents  1 working  0 waiting for approval  0 done  1 failed  12.3k tokens  $0.0123",
        "AGENT               SOURCE       STATUS                     FOR  TURNS  TOOLS    ERR   TOKENS       COST  LAST",
        "日本語のとても長…   claude-code  failed                    1m16      0      0      1        0          –  http 401",
        "tests               zot          running bash +1           1m15      3      7      0    12.3k    $0.0123  running",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn running_tools_and_approvals_are_shown_even_in_a_narrow_table() {
    let mut agents = agents();
    agents[0].running = vec![RunningTool {
        name: "bash".to_owned(),
        summary: "cargo test \u{1b}[2J".to_owned(),
        ..RunningTool::default()
    }];
    agents[1].status = Status::WaitingForApproval;
    agents[1].since_ms = 1_000;
    let asked = PendingApproval {
        name: "edit".to_owned(),
        summary: "src/main.rs".to_owned(),
        since_ms: 16_000,
        ..PendingApproval::default()
    };
    agents[1].approvals = vec![asked.clone(), asked];
    let shown = |columns| {
        let rows = usize::MAX;
        table(
            &agents,
            &View::default(),
            76_000,
            Size { columns, rows },
            false,
        )
    };
    assert_eq!(
        shown(80)[1..],
        [
            "AGENT               STATUS                     FOR  LAST",
            "日本語のとても長…   waiting for approval      1m00  (+1) edit: src/main.rs",
            "tests               running bash +1           1m15  cargo test ",
        ]
    );
    let wide = shown(120);
    assert!(wide[1].contains("SOURCE") && !wide[1].contains("TURNS"));
    assert!(wide[2].ends_with("(+1) edit: src/main.rs"), "{}", wide[2]);
}

#[test]
fn the_table_fits_any_size() {
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
fn colors_only_when_enabled() {
    let size = Size {
        columns: 80,
        rows: 24,
    };
    let plain = table(&agents(), &View::default(), 0, size, false);
    assert!(plain.iter().all(|line| !line.contains('\x1b')));
    let colored = table(&agents(), &View::default(), 0, size, true);
    assert!(colored[2].starts_with("\x1b[31m"), "{:?}", colored[2]);
}
